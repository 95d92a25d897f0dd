import { errorTable } from '../src/errors.ts'
import type { Catalog } from '../src/mapping/catalog.ts'
import { messages } from '../src/messages.ts'
import { describeSentence } from './mapping-reference.ts'
import { table } from './table.ts'

/** Returns the page of every `Message` that a version-1 caller can get, from the code's own declarations. */
export function messagePage({ actions }: Catalog): string {
  return `# Messages

Every \`Message\` that a version-1 caller can get. \`npm run docs\` generates this page from the code: do not edit it. Words in
braces are filled in; *The service says: …* follows where the service's reply has a message of its own. A \`Message\` is one
line of at most 500 characters.

## Successful calls

${table(
  ['Action', 'Message'],
  [...actions.values()].flatMap(({ action: { name, reply } }) =>
    reply.flatMap((row) =>
      row.kind === 'message' ? row.sentences.map((sentence) => [`\`${name}\``, describeSentence(sentence)]) : [],
    ),
  ),
)}
## Errors

The code stands in the log line of the call. Where the service refused a call, the status is the service's own.

${table(
  ['Status', 'Code', 'Message'],
  Object.entries(messages).map(([name, text]) => {
    const code = codeOf(name)
    return [String(errorTable[code].status), `\`${code}\``, shown(text)]
  }),
)}`
}

const isCode = (name: string): name is keyof typeof errorTable => Object.hasOwn(errorTable, name)

function codeOf(name: string): keyof typeof errorTable {
  const [code = ''] = name.split('/')
  if (!isCode(code)) throw new Error(`the message ${name} has no error code`)
  return code
}

const shown = (text: string) => text.replace('{words}', ' *The service says: …*')
