-- Generates load with wrk: repeats one call, with a new name in each.
-- wrk … -- METHOD PATH AUTHORIZATION BODY PREFIX DIGITS FIRST COUNT STRIDE; {name} in the path or the body stands for
-- a name; with a COUNT of 0 no name repeats.
local head, tail, prefix, digits, first, count
local sent = 0
local HOLE = "{name}"

-- Without a name the request is always the same, and `tail` is missing.
function init(args)
  local method, path, authorization, body = args[1], args[2], args[3], args[4]
  prefix, digits, first, count = args[5], args[6], tonumber(args[7]), tonumber(args[8])
  local length = #body
  if body:find(HOLE, 1, true) then length = length - #HOLE + #prefix + tonumber(digits) end
  local request = method .. " " .. path .. " HTTP/1.1\r\nHost: " .. wrk.host .. "\r\nAuthorization: " .. authorization
  if method == "GET" then
    request = request .. "\r\n\r\n"
  else
    request = request .. "\r\nContent-Type: application/json\r\nContent-Length: " .. length .. "\r\n\r\n" .. body
  end
  local from, to = request:find(HOLE, 1, true)
  if from then
    head, tail = request:sub(1, from - 1) .. prefix, request:sub(to + 1)
  else
    head = request
  end
  digits = "%0" .. digits .. "d"
end

function request()
  if not tail then return head end
  local number = first + sent
  if count > 0 then number = first + sent % count end
  sent = sent + 1
  return head .. digits:format(number) .. tail
end

-- Prints the figures as a line of JSON; latencies are in microseconds.
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(('\n{"calls":%d,"micros":%d,"failed":%d,"p50":%d,"p99":%d}\n'):format(
    summary.requests, summary.duration, failed, latency:percentile(50), latency:percentile(99)))
end
