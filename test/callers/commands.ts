import { type CommandEnd, type CommandOptions, cleanEnv, PROGRAM, type Running, run, start } from '../command.ts'

/** Runs `transload …` to its end, in a folder of the test. */
export function transload(
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
  input?: string,
): Promise<CommandEnd> {
  const options: CommandOptions = { cwd, env: cleanEnv(env), ...(input !== undefined && { input }) }
  return run(process.execPath, [PROGRAM, ...words], options)
}

/** A gateway in a separate process. */
export interface GatewayCommand extends Running {
  readonly url: string
  readonly adminUrl: string
}

/** Starts a gateway as operators do; it ends with the test. */
export async function serve(cwd: string, env: NodeJS.ProcessEnv): Promise<GatewayCommand> {
  const running = start(process.execPath, [PROGRAM, 'serve'], {
    cwd,
    env: cleanEnv({ HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', ...env }),
  })
  const out = await running.says(/"msg":"listening"/)
  const line = out.split('\n').find((text) => text.includes('"listening"')) ?? '{}'
  const { url, admin } = JSON.parse(line)
  return { ...running, url, adminUrl: admin ?? '' }
}
