import { testEngine } from './engine.ts'

testEngine('memory')
