import { randomUUID } from 'node:crypto'
import { serviceDate } from './service-date.ts'
import { touchShipment } from './shipments.ts'
import type { EventName, Photo, SandboxState, Shipment } from './state.ts'

/** The carrier's steps of a shipment after its booking. */
export type Step = 'posted' | 'assigned' | 'picked_up' | 'delivered' | 'hold' | 'canceled' | 'bol_available'

const EVENTS: Partial<Record<Step, EventName>> = {
  assigned: 'shipment.assigned',
  picked_up: 'shipment.picked_up',
  delivered: 'shipment.delivered',
  canceled: 'shipment.canceled_by_carrier',
  bol_available: 'shipment.bol_available',
}

/** Moves a shipment to a step, with the data that the service adds at that step, and its event. */
export function advanceShipment(state: SandboxState, id: string, step: Step): Shipment {
  const shipment = state.shipments.get(id)
  if (!shipment) throw new Error(`The sandbox has no shipment ${id}`)
  const next = after(shipment, step, serviceDate(state.settings.clock()))
  state.shipments.set(id, next)
  touchShipment(state, id)
  const event = EVENTS[step]
  if (event) state.announce(event, id)
  return next
}

function after(shipment: Shipment, step: Step, now: string): Shipment {
  switch (step) {
    case 'bol_available': {
      const document = { id: randomUUID(), type: 'bol', url: `https://files.example.com/${shipment.number}-bol.pdf` }
      return { ...shipment, documents: [...shipment.documents, document] }
    }
    case 'picked_up':
      return {
        ...photographed(shipment, 'pickup', now),
        status: step,
        pickup: { ...shipment.pickup, pickup_dttm: now },
      }
    case 'delivered':
      return {
        ...photographed(shipment, 'delivery', now),
        status: step,
        delivery: { ...shipment.delivery, delivery_dttm: now },
      }
    default:
      return { ...shipment, status: step }
  }
}

function photographed(shipment: Shipment, type: string, created_dttm: string): Shipment {
  const photo = (): Photo => {
    const id = randomUUID()
    return { id, type, url: `https://files.example.com/${id}.jpg`, latitude: 32.78, longitude: -96.8, created_dttm }
  }
  return { ...shipment, vehicles: shipment.vehicles.map((one) => ({ ...one, photos: [...one.photos, photo()] })) }
}
