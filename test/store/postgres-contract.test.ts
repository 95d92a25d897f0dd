import { testEngine } from './engine.ts'

testEngine('postgres')
