import { codec } from '../../src/language/mapping/codec.ts'
import { canonical, lettersAndDigits } from '../../src/language/mapping/keeps.ts'
import { knownStates, stateCodes } from '../us-states.ts'
import { leftOutIfNotKnown, type Scalar, scalar } from './text.ts'

/** Returns the code of a code or a name; undefined if it is neither. */
function readState(text: string): string | undefined {
  const letters = text.replace(/[\s.,]+/g, '')
  // Checked first: upper case turns some foreign letters into two.
  if (!/^[a-z]+$/i.test(letters)) return undefined
  const upper = letters.toUpperCase()
  return upper.length === 2 ? upper : stateCodes.get(upper)
}

const stateSense = (text: string): string => {
  const letters = lettersAndDigits(text)
  return stateCodes.get(letters) ?? letters
}

/** A US state as its two letters. */
export const state = codec<Scalar>(scalar, {
  name: 'state',
  values: Object.fromEntries(stateCodes),
  summary: 'A US state, as two letters or its full name. TBD and N/A count as absent.',
  problem: 'must be a US state such as TX or Texas',
  keeps: canonical('two uppercase letters', stateSense),
  decode: (text, fail, leaveOut) => {
    leftOutIfNotKnown(text, leaveOut)
    return readState(text) ?? fail()
  },
  encode: String,
  remark: (text) => {
    const code = readState(text)
    return code === undefined || knownStates.has(code) ? undefined : { warning: 'is not a US state or territory' }
  },
})
