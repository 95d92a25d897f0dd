import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import { hashSecret, makeSecret } from '../../edge/callers/hashes.ts'
import { readConfig } from '../../language/config/config.ts'
import { ConfigErrors } from '../../language/config/errors.ts'
import { issueText } from '../../language/config/json-file.ts'
import { readTenants, type Tenant, tenantsSchema } from '../../language/config/tenants-file.ts'
import { textOf } from '../../outside/service/credential.ts'
import { makeLike } from '../../runtime/make-like.ts'
import { plural } from '../words.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { mappingsOf, withoutService } from './open-store.ts'
import { type JsonOption, type Options, print, printError, printJson, prompt } from './output.ts'

/** Reads the secret from standard input, because arguments appear in the shell's history and in the process list. */
export async function hash(): Promise<number> {
  prompt('Type the secret, then Enter and Ctrl-D: ')
  const secret = textOf(await buffer(process.stdin)).replace(/^\ufeff|\r?\n$/g, '')
  if (secret === '') throw new CommandFailed('standard input is empty; send the secret there')
  print(await hashSecret(secret))
  return 0
}

type AddOptions = Options<never, 'file' | 'id' | 'v2SecretEnv' | 'v2SecretFile'> & { readonly v2ClientId: string }

/** Adds a tenant with a secret that the gateway makes, and shows the secret once. */
export async function add(
  name: string,
  { id = name, file: tenantsFile, v2ClientId, ...v2 }: AddOptions,
): Promise<number> {
  const { v2SecretEnv: env, v2SecretFile: file } = v2
  if ((env === undefined) === (file === undefined))
    throw new UsageError('say where its secret at the service is: --v2-secret-env NAME or --v2-secret-file PATH')
  const secret = makeSecret()
  const credentials = [{ id, secret_hash: await hashSecret(secret) }]
  const client_secret = env === undefined ? { file } : { env }
  edit(tenantsFile, undefined, (tenants) => {
    const holder = tenants.find((other) => other.name !== name && other.credentials?.some((one) => one.id === id))
    if (holder)
      throw new CommandFailed(`the tenant ${holder.name} already has the Client ID ${id}; choose another with --id`)
    return [...tenants, { name, credentials, v2: { client_id: v2ClientId, client_secret } }]
  })
  show(name, id, secret)
  return 0
}

/** Gives a tenant a new secret beside the old ones, or in their place. */
export async function rotate(name: string, { file, only }: Options<'only', 'file'>): Promise<number> {
  const secret = makeSecret()
  const secret_hash = await hashSecret(secret)
  let id = name
  edit(file, name, (tenants) =>
    tenants.map((tenant) => {
      if (tenant.name !== name) return tenant
      const old = tenant.credentials ?? []
      id = old[0]?.id ?? name
      return { ...tenant, credentials: [...(only ? old.filter((one) => one.id !== id) : old), { id, secret_hash }] }
    }),
  )
  show(name, id, secret)
  if (!only) print('The old secrets keep working; "transload tenants rotate NAME --only" replaces them.')
  return 0
}

/** Removes a tenant. */
export function remove(name: string, { file }: Options<never, 'file'>): number {
  const left = edit(file, name, (tenants) => tenants.filter((tenant) => tenant.name !== name))
  const effect =
    left.length > 0
      ? 'Running gateways reload the file within seconds.'
      : 'No tenant is left, so running gateways refuse the file and keep the old one: stop them.'
  print(`The tenant ${name} was removed. ${effect}`)
  return 0
}

function show(name: string, id: string, secret: string): void {
  print(
    `${name} calls with the Client ID ${id} and this secret, which is shown only once:`,
    secret,
    'Running gateways reload the file within seconds.',
  )
}

/** The members of a file that an edit reads; the rest stays as it is. */
const edited = z.looseObject({
  tenants: z.array(
    z.looseObject({
      name: z.string(),
      credentials: z.array(z.looseObject({ id: z.string(), secret_hash: z.string() })).optional(),
    }),
  ),
})

type Change = (tenants: z.infer<typeof edited>['tenants']) => readonly { readonly name: string }[]

/** Changes the tenants of a file, in one step and one command at a time; the order and what is not changed stay. */
function edit(given: string | undefined, mustHave: string | undefined, change: Change): ReturnType<Change> {
  const named = given ?? process.env['TENANTS_FILE']?.trim()
  if (!named) throw new UsageError('TENANTS_FILE is not set, and there is no --file')
  // Of a link, the file that it leads to: another gateway may use it by its own name.
  const file = existsSync(named) ? realpathSync(named) : resolve(named)
  const next = `${file}.next`
  const descriptor = openAlone(next)
  try {
    const { text, tenants } = changed(file, mustHave, change)
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
    warnOfRefusal(next, file)
    if (existsSync(file)) {
      makeLike(next, file)
      // It holds hashes, and its readers are an operator's choice.
      chmodSync(next, statSync(file).mode & RIGHTS)
    }
    renameSync(next, file)
    return tenants
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}

/** Says before a file is put in place why a gateway may refuse it: for its mistakes, or for secrets that this process lacks. */
function warnOfRefusal(next: string, file: string): void {
  const why: string[] = []
  try {
    readTenants(next, { synonymMistakes: () => [] }, process.env, why)
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    why.push(...error.errors)
  }
  printError(...why.map((one) => `warning: ${one.replace(next, () => file)}`))
}

/** Reading and writing, of the owner, the group and others. */
const RIGHTS = 0o666

/** An edit takes milliseconds: a file that is older was left behind by a command that was killed. */
const LEFT_BEHIND_MS = 60_000

/** Makes the file that takes the place of another; fails while another command does the same. */
function openAlone(next: string): number {
  const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(next, { throwIfNoEntry: false }) ?? {}
  if (Date.now() - mtimeMs > LEFT_BEHIND_MS) rmSync(next)
  try {
    return openSync(next, 'wx', 0o600)
  } catch (error) {
    const isExisting = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!isExisting) throw error
    throw new CommandFailed(`another command is changing the tenants file (${next}); try again`)
  }
}

/** Returns the content of a file with its tenants changed. */
function changed(file: string, mustHave: string | undefined, change: Change) {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '{\n  "tenants": []\n}\n'
  const content = contentOf(before)
  if (!content) throw new CommandFailed(`${file} is not a tenants file; "transload tenants check" says why`)
  if (mustHave !== undefined && !content.tenants.some(({ name }) => name === mustHave))
    throw new CommandFailed(`there is no tenant ${mustHave} in ${file}`)
  const tenants = change(content.tenants)
  const after = { ...content, tenants }
  const names = tenants.map(({ name }) => name)
  const double = names.find((name, at) => names.indexOf(name) !== at)
  if (double !== undefined) throw new CommandFailed(`there is already a tenant ${double}`)
  const [issue] = names.length === 0 ? [] : (tenantsSchema.safeParse(after).error?.issues ?? [])
  if (issue)
    throw new CommandFailed(
      `tenant ${names[Number(issue.path[1])]}: ${issue.path.slice(2).join('.')} ${issueText(issue)}`,
    )
  const indent = /^[ \t]+/m.exec(before)?.[0] ?? '  '
  return { text: `${JSON.stringify(after, null, indent)}\n`, tenants }
}

function contentOf(text: string) {
  try {
    return edited.safeParse(JSON.parse(text.replace(/^\ufeff/, ''))).data
  } catch {
    return undefined
  }
}

/** Checks a tenants file. */
export async function check(file: string | undefined): Promise<number> {
  const { length } = await tenantsIn(file)
  print(`The tenants file is valid: ${plural(length, 'tenant')}.`)
  return 0
}

/** Lists the tenants of a file. */
export async function list(file: string | undefined, { json }: JsonOption): Promise<number> {
  const found = await tenantsIn(file)
  if (json) for (const tenant of found) printJson(publicView(tenant))
  else print(...found.map(lineOf))
  return 0
}

async function tenantsIn(file: string | undefined): Promise<readonly Tenant[]> {
  // A tenants file can be prepared beside a gateway in fixed mode, which does not allow one.
  const fixed = { V2_CLIENT_ID: undefined, V2_CLIENT_SECRET: undefined }
  const config = readConfig({ ...withoutService(), ...fixed, ...(file !== undefined && { TENANTS_FILE: file }) })
  if (config.TENANTS_FILE === undefined) throw new ConfigErrors(['TENANTS_FILE is not set, and no FILE is given'])
  const catalog = await mappingsOf(config)
  const lacking: string[] = []
  const tenants = readTenants(config.TENANTS_FILE, catalog, process.env, lacking)
  printError(...lacking.map((secret) => `warning: ${secret}`))
  return tenants
}

/** Returns a tenant without its secrets. */
function publicView({ name, credentials, networks, v2 }: Tenant) {
  return {
    name,
    credentials: credentials.map(({ id }) => id),
    networks,
    client_id: v2.client_id,
    base_url: v2.base_url && v2.base_url.origin + v2.base_url.prefix,
  }
}

function lineOf(tenant: Tenant): string {
  const { name, credentials, networks, client_id, base_url = '(V2_BASE_URL)' } = publicView(tenant)
  return [
    name,
    `credentials: ${credentials.join(', ') || '-'}`,
    `networks: ${networks.join(', ') || '-'}`,
    `service: ${client_id} at ${base_url}`,
  ].join('  ')
}
