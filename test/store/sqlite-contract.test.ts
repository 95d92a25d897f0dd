import { testEngine } from './engine.ts'

testEngine('sqlite')
