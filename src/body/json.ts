import { type GatewayError, gatewayError } from '../errors.ts'
import { forEachMember, JsonError, parseJson, scalarText } from '../text/json.ts'
import { addField, type Entry, type FieldValue, flatValue, NOT_FLAT } from './flat.ts'

/** Reads the fields of a JSON object, with all digits of numbers and both of two equal names. */
export function readJsonFields(text: string): Entry[] {
  const fields: Entry[] = []
  try {
    forEachMember(text, (name, value) => addField(fields, name, fieldValue(value)))
  } catch (error) {
    throw error instanceof JsonError ? notJson(error) : error
  }
  return fields
}

function fieldValue(value: unknown): FieldValue {
  if (value === null) return null
  const text = scalarText(value)
  return text === undefined ? NOT_FLAT : flatValue(text)
}

/** Reads any JSON value, with all digits of numbers. */
export function readJsonValue(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw error instanceof JsonError ? notJson(error) : error
  }
}

function notJson({ message }: JsonError): GatewayError {
  return gatewayError('body-unreadable/json', { fault: message })
}
