import { NO_SHIPMENT } from '../service/acceptance.ts'
import { type Area, CannotTell, confirmed, contradicted, decide } from './assumption.ts'
import { described, isDone, isUnknown, member, type Seen, typeName } from './seen.ts'
import type { Trial } from './trial.ts'

const READ = 'GET /v2/shipments/{shipment_id}'
const NO_PATH = `/v2/shipments/${NO_SHIPMENT}`

/** Reads a shipment that does not exist, which is harmless. */
const readNone = (trial: Trial, authorization?: string | null) =>
  trial.ask('GET', NO_PATH, authorization === undefined ? {} : { authorization })

/** Assumptions about credentials. */
export const access: Area = {
  title: 'Credentials',
  assumptions: [
    {
      id: 'basic-accepted',
      sentence: 'The service accepts Basic authentication.',
      how: 'Reads a shipment that does not exist, with the credential as Basic authentication.',
      otherwise: 'Set V2_TOKEN=oauth2, or auto.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await readNone(trial, trial.basic)
        return decide(reply.status !== 401 && reply.status !== 403, described(reply))
      },
    },
    {
      id: 'wrong-secret-401',
      sentence: 'A wrong secret is answered with 401.',
      how: 'Reads a shipment that does not exist, with a wrong secret.',
      otherwise:
        'In client mode, a caller with a wrong secret gets the status of the service instead of 401; set TENANTS_FILE if callers must tell them apart.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await readNone(trial, trial.wrongCredential)
        return decide(reply.status === 401, described(reply))
      },
    },
    {
      id: 'wrong-secret-before-404',
      sentence: 'A wrong secret is refused before the service looks for a shipment: no 404 to a stranger.',
      how: 'Reads a shipment that does not exist, with a wrong secret.',
      otherwise:
        'In client mode, a 404 or 410 to a read counts as the proof of a credential, so a stranger would be accepted. Use V2_CLIENT_ID or TENANTS_FILE.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await readNone(trial, trial.wrongCredential)
        return decide(!isUnknown(reply) && !isDone(reply), described(reply))
      },
    },
    {
      id: 'no-credential-401',
      sentence: 'A call without a credential is answered with 401.',
      how: 'Reads a shipment that does not exist, without `Authorization`.',
      otherwise: 'Nothing: the gateway never sends such a call.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await readNone(trial, null)
        return decide(reply.status === 401, described(reply))
      },
    },
    {
      id: 'challenge',
      sentence: 'A 401 names the scheme that the service wants, in `WWW-Authenticate`.',
      how: 'Reads a shipment that does not exist, with a wrong secret.',
      otherwise: 'V2_TOKEN=auto cannot notice when the service wants tokens. Set V2_TOKEN=basic or oauth2.',
      effect: 'reads',
      requests: [READ],
      check: async (trial) => {
        const reply = await readNone(trial, trial.wrongCredential)
        if (reply.status !== 401) throw new CannotTell(`a wrong secret is answered ${described(reply)}`)
        const value = reply.headers['www-authenticate']
        return value === undefined ? contradicted('401 without a challenge') : confirmed('401 with a challenge')
      },
    },
    {
      id: 'token-given',
      sentence: 'The token endpoint, if there is one, gives an `access_token`.',
      how: 'Asks POST /oauth2/token for a token with the `client_credentials` grant. The token is not kept.',
      otherwise: 'Keep V2_TOKEN=basic: the gateway cannot read the reply.',
      effect: 'reads',
      requests: ['POST /oauth2/token'],
      check: async (trial) => {
        const reply = await askToken(trial)
        const token = member(reply.body, 'access_token')
        return decide(typeof token === 'string' && /^[\x21-\x7e]+$/.test(token), `access_token: ${typeName(token)}`)
      },
    },
    {
      id: 'token-lifetime',
      sentence: 'A token comes with its lifetime, `expires_in`, in seconds.',
      how: 'Asks for a token and looks for `expires_in`.',
      otherwise: 'Nothing: without a lifetime, a token is used for five minutes.',
      effect: 'reads',
      requests: ['POST /oauth2/token'],
      check: async (trial) => {
        const lifetime = member((await askToken(trial)).body, 'expires_in')
        return decide(Number(lifetime) > 0, `expires_in: ${typeName(lifetime)}`)
      },
    },
    {
      id: 'token-accepted',
      sentence: 'The service accepts the tokens that it gives.',
      how: 'Asks for a token, and reads a shipment that does not exist with it.',
      otherwise: 'Keep V2_TOKEN=basic.',
      effect: 'reads',
      requests: ['POST /oauth2/token', READ],
      check: async (trial) => {
        const token = member((await askToken(trial)).body, 'access_token')
        if (typeof token !== 'string') throw new CannotTell('no token is given')
        const reply = await readNone(trial, `Bearer ${token}`)
        return decide(reply.status !== 401 && reply.status !== 403, described(reply))
      },
    },
    {
      id: 'token-wrong-secret',
      sentence: 'The token endpoint refuses a wrong secret with 400, 401 or 403.',
      how: 'Asks for a token with a wrong secret.',
      otherwise:
        'A caller with a wrong secret is told that the service failed. Keep V2_TOKEN=basic, or set TENANTS_FILE.',
      effect: 'reads',
      requests: ['POST /oauth2/token'],
      check: async (trial) => {
        const reply = await askToken(trial, trial.wrongCredential)
        return decide([400, 401, 403].includes(reply.status), described(reply))
      },
    },
  ],
}

async function askToken(trial: Trial, authorization?: string): Promise<Seen> {
  const reply = await trial.ask('POST', '/oauth2/token', {
    authorization: authorization ?? trial.basic,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
  })
  if (reply.status === 404 || reply.status === 405) throw new CannotTell('there is no token endpoint yet')
  if (authorization === undefined && !isDone(reply)) throw new CannotTell(`it is answered ${described(reply)}`)
  return reply
}
