import { type About, aboutBooking, BOOK, READ } from './about.ts'
import { type Area, type Assumption, CannotTell, contradicted, decide, type Finding } from './assumption.ts'
import { INSTRUCTIONS, VIN } from './samples.ts'
import { formOf, member, textOf, typeName } from './seen.ts'

/** Makes an assumption that a value comes back as it was sent. */
function comesBack(about: Omit<About, 'how'>, path: readonly (string | number)[], expected: unknown): Assumption {
  return aboutBooking(
    { ...about, how: `Books, reads the shipment, and compares \`${path.join('.')}\`.` },
    ({ read }) => {
      const value = member(read.body, ...path)
      const isSame = typeName(value) === typeName(expected) && textOf(value) === textOf(expected)
      return decide(isSame, isSame ? 'unchanged' : value === undefined ? 'missing' : `${typeName(value)}, changed`)
    },
  )
}

const OWN_MAPPING = 'Change its codec in a mapping of your own (MAPPINGS_DIR).'

/** Assumptions about values that come back as they were sent. */
export const keptValues: Area = {
  title: 'Values that come back',
  assumptions: [
    comesBack(
      { id: 'zip-is-integer', sentence: 'A ZIP code comes back as the integer that was sent.', otherwise: OWN_MAPPING },
      ['delivery', 'zipcode'],
      2134,
    ),
    comesBack(
      { id: 'year-is-integer', sentence: 'A year comes back as an integer.', otherwise: OWN_MAPPING },
      ['vehicles', 0, 'year'],
      2023,
    ),
    comesBack(
      { id: 'phone-is-digits', sentence: 'A telephone number comes back as digits.', otherwise: OWN_MAPPING },
      ['pickup', 'contact_phone'],
      '2145550101',
    ),
    comesBack(
      { id: 'state-unchanged', sentence: 'A state comes back as two capital letters.', otherwise: OWN_MAPPING },
      ['pickup', 'state'],
      'TX',
    ),
    comesBack(
      {
        id: 'vin-unchanged',
        sentence: 'A VIN comes back as it was sent.',
        otherwise: `A \`VinNo\` may choose no vehicle, and an event may settle no booking. ${OWN_MAPPING}`,
      },
      ['vehicles', 0, 'vin'],
      VIN,
    ),
    comesBack(
      {
        id: 'transport-type-unchanged',
        sentence: 'The transport type comes back as it was sent.',
        otherwise: `An update sends the other form back. ${OWN_MAPPING}`,
      },
      ['transport_type'],
      'open',
    ),
    comesBack(
      {
        id: 'text-is-utf-8',
        sentence: 'Text outside ASCII comes back unchanged.',
        otherwise: 'Names and addresses of callers are damaged. Tell the service.',
      },
      ['instructions'],
      INSTRUCTIONS,
    ),
    comesBack(
      {
        id: 'customer-shown',
        sentence: 'A shipment shows its customer.',
        otherwise: 'An update would clear the customer. Tell the service, and do not let callers update.',
      },
      ['customer', 'customer_name'],
      'Transload Test',
    ),
  ],
}

/** The forms of a date-time that the gateway knows. */
export const DATE_FORM = /^0000-00-00T00:00:00(\.000)?[+-]0000$/

/** Assumptions about dates. */
export const dates: Area = {
  title: 'Dates',
  assumptions: [
    aboutDate(
      {
        id: 'date-form',
        sentence: 'A date-time comes back as `2024-08-10T08:00:00+0000`, with or without milliseconds.',
        otherwise:
          'Events and fields of callers show the other form. A mapping of your own can convert it (MAPPINGS_DIR).',
      },
      '2030-08-10T08:00:00+0000',
      (value) => decide(DATE_FORM.test(formOf(value)), formOf(value)),
    ),
    aboutDate(
      {
        id: 'date-offset-obeyed',
        sentence: 'A date-time with an offset comes back as the same moment.',
        otherwise: 'An update moves the dates of a shipment. Tell the service.',
      },
      '2030-08-10T08:00:00-0500',
      (value) => sameMoment(value, '2030-08-10T13:00:00Z'),
    ),
    aboutDate(
      {
        id: 'date-without-offset-is-utc',
        sentence: 'A date-time without an offset is UTC.',
        otherwise: 'A mapping of your own that sends dates must send an offset (MAPPINGS_DIR).',
      },
      '2030-08-10T08:00:00',
      (value) => sameMoment(value, '2030-08-10T08:00:00Z'),
    ),
  ],
}

function aboutDate(about: Omit<About, 'how'>, sent: string, check: (value: unknown) => Finding): Assumption {
  return {
    ...about,
    how: `Books with \`pickup.available_pickup_dttm\` as \`${sent}\`, and reads the shipment.`,
    effect: 'bookings',
    requests: [BOOK, READ],
    check: async (trial) => {
      const { read } = await trial.newShipment({ pickup: { zipcode: 75234, available_pickup_dttm: sent } })
      const value = member(read.body, 'pickup', 'available_pickup_dttm')
      if (value === undefined) throw new CannotTell('the shipment does not show the date')
      return check(value)
    },
  }
}

function sameMoment(value: unknown, expected: string): Finding {
  const moment = Date.parse(textOf(value).replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))
  if (Number.isNaN(moment)) return contradicted(formOf(value))
  return decide(moment === Date.parse(expected), moment === Date.parse(expected) ? 'the same moment' : 'another moment')
}
