-- Translates a quote, written by hand for this one call. nginx and HAProxy use it.
-- Runs under LuaJIT and Lua 5.3. The check before each run compares it with the gateway.
local cjson = require("cjson")

local BETWEEN_WORDS = "[^%s,;:./|()%[%]\"]+"
local LONGEST_PHRASE = 4
local transports = { ["OPEN AUTO"] = "open", ["ENCLOSED AUTO"] = "enclosed" }
local types = {}

-- Normalizes a word: BOX_TRUCK, box truck and Box-Truck are the same.
local function folded(text)
  return (text:upper():gsub("[%s,;:./|()%[%]\"_-]+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- Returns the vehicle type of the longest known phrase in a description.
local function type_in_words(text)
  local words = {}
  for word in text:gmatch(BETWEEN_WORDS) do words[#words + 1] = folded(word) end
  for length = math.min(LONGEST_PHRASE, #words), 1, -1 do
    for start = 1, #words - length + 1 do
      local found = types[table.concat(words, " ", start, start + length - 1)]
      if found then return found end
    end
  end
  return nil
end

-- Restores lost leading zeros: 2134 becomes 02134.
local function zip(text)
  if text:find("^%d%d%d%d?$") then return ("0"):rep(5 - #text) .. text end
  return text
end

local translate = {}

-- Reads the table of vehicle types.
function translate.load(path)
  local file = assert(io.open(path))
  for phrase, name in pairs(cjson.decode(file:read("*a"))) do types[folded(phrase)] = name end
  file:close()
end

-- Returns the version-2 body of a version-1 quote, and the caller's number.
function translate.to_version_2(body)
  local fields = cjson.decode(body)
  return cjson.encode({
    pickup = zip(fields.TempShipFromPostalCode),
    delivery = zip(fields.TempShipToPostalCode),
    vehicle_type = types[folded(fields.PickupCommodityCode or "")]
      or types[folded(fields.DeliveryCommodityCode or "")]
      or type_in_words(fields.LoadReference or "")
      or "car",
    transport_type = transports[folded(fields.EquipmentType or "")] or "open",
  }), fields.ShipmentNumber
end

-- Returns the version-1 reply to a quote, and the id of the service.
function translate.to_version_1(body, own)
  local reply = cjson.decode(body)
  if own == nil or own == "" then own = reply.shipment_id end
  return cjson.encode({ Cost = ("%.2f"):format(reply.price), ShipmentNumber = own }), reply.shipment_id
end

return translate
