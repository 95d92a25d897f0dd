/** Returns the files of a new mapping by their paths: a module that reads a shipment, and a case for it. */
export function newMapping(name: string): Readonly<Record<string, string>> {
  const action = name.includes('-') ? name.replace('-', '.') : `own.${name}`
  const path = `/${name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())}.php`
  return {
    [`${name}.ts`]: moduleOf(action, path),
    [`cases/${name}.json`]: `${JSON.stringify(caseOf(action), null, 2)}\n`,
  }
}

const moduleOf = (action: string, path: string) => `import type { Action, Toolbox } from 'transload'

/** Answers POST ${path} with the state of a shipment. Change the rows to those of your call. */
export default ({ vocabulary, codecs, actions }: Toolbox): Action => {
  const { action, choose, ifAbsent, ifPresent, message, move, ref, v1Only, v2Only } = vocabulary

  return action({
    name: '${action}',
    summary: 'Report the status of a shipment.',
    family: 'shipment',
    legacy: { method: 'POST', paths: ['${path}'], actionNames: 'any' },
    service: { method: 'GET', path: '/v2/shipments/{shipment_id}' },
    target: { kind: 'shipment', namedBy: ['ReferenceNumber'] },
    request: [
      ref('ReferenceNumber', 'names the shipment: its id stands in the path'),
      ...v1Only(['ActionName'], 'the path decides the action'),
    ],
    reply: [
      move('ReferenceNumber', 'external_id', codecs.text),
      move('Price', 'price', codecs.money),
      choose('Stage', 'status', { new: 'BOOKED', picked_up: 'ON THE ROAD', delivered: 'DONE' }, 'IN PROGRESS'),
      message('Message', [
        ifPresent('number', 'Shipment {number} is {status}.'),
        ifAbsent('number', 'The shipment is {status}.'),
      ]),
      ...v2Only(
        ['id', 'customer', 'pickup', 'delivery', 'vehicles', 'transport_type', 'distance', 'documents', 'instructions'],
        'this call reports the status only',
      ),
    ],
    example: { request: { ReferenceNumber: 'REF-1' }, reply: actions['shipment.get'].example.reply },
  })
}
`

const caseOf = (action: string) => ({
  action,
  about: 'the status of a shipment that is named by its reference',
  request: { ReferenceNumber: 'REF-1' },
  sends: { method: 'GET', path: '/v2/shipments/{shipment_id of REF-1}' },
  unknown: [],
  service: { external_id: 'REF-1', number: 'TL-100001', price: 350, status: 'picked_up' },
  replies: {
    ReferenceNumber: 'REF-1',
    Price: '350.00',
    Stage: 'ON THE ROAD',
    Message: 'Shipment TL-100001 is picked_up.',
  },
})
