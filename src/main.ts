import { run } from './operator/cli.ts'

process.exitCode = await run(process.argv.slice(2))
