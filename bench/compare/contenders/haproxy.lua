-- A quote in HAProxy. An action translates the buffered body and a filter puts the translation in its place; another
-- action translates the reply, which the configuration then answers with.
local folder = os.getenv("BENCH_FOLDER")
package.path = folder .. "/?.lua;" .. package.path
package.cpath = os.getenv("BENCH_LUA_CPATH") .. ";" .. package.cpath
local translate = require("translate")
translate.load(folder .. "/vehicle-types.json")

core.register_action("quote_request", { "http-req" }, function(txn)
  local body, own = translate.to_version_2(txn.f:req_body())
  txn:set_priv(own)
  txn:set_var("txn.request", body)
  txn.http:req_set_header("content-length", tostring(#body))
end)

core.register_action("quote_reply", { "http-res" }, function(txn)
  txn:set_var("txn.reply", translate.to_version_1(txn.f:res_body(), txn:get_priv()))
end)

local Replace = { id = "replace the body of a request", flags = filter.FLT_CFG_FL_HTX }
Replace.__index = Replace

function Replace:new()
  return setmetatable({}, Replace)
end

function Replace:start_analyze(_, channel)
  if not channel:is_resp() then filter.register_data_filter(self, channel) end
end

function Replace:http_payload(txn, message)
  local body = txn:get_var("txn.request")
  if body then message:set(body) end
end

core.register_filter("replace_body", Replace, function(replace) return replace end)
