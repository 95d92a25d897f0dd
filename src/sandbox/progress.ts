import { randomUUID } from 'node:crypto'
import { serviceDate } from './service-date.ts'
import { touchShipment } from './shipments.ts'
import type { EventName, Photo, Shipment, World } from './world.ts'

/** What happens to a shipment after its booking, from the carrier's side. */
export type Step = 'posted' | 'assigned' | 'picked_up' | 'delivered' | 'hold' | 'canceled' | 'bol_available'

const EVENTS: Partial<Record<Step, EventName>> = {
  assigned: 'shipment.assigned',
  picked_up: 'shipment.picked_up',
  delivered: 'shipment.delivered',
  canceled: 'shipment.canceled_by_carrier',
  bol_available: 'shipment.bol_available',
}

/** Takes a shipment a step on its way, with all that the service then adds to it, and its event. */
export function advanceShipment(world: World, id: string, step: Step): Shipment {
  const shipment = world.shipments.get(id)
  if (!shipment) throw new Error(`The sandbox has no shipment ${id}`)
  const next = after(shipment, step, serviceDate(world.settings.clock()))
  world.shipments.set(id, next)
  touchShipment(world, id)
  const event = EVENTS[step]
  if (event) world.announce(event, id)
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
