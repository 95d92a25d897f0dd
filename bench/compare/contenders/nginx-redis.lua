-- Translates a quote in nginx, and answers once Redis has it on the disk: the id by the caller's number, and the facts by the id.
local cjson = require("cjson")
local redis = require("nginx.redis")
local translate = require("translate")

local KEPT_MS = 60000
local KEPT_CONNECTIONS = 128

ngx.req.read_body()
local body, own = translate.to_version_2(ngx.req.get_body_data())
local reply = ngx.location.capture("/service/v2/quote", { method = ngx.HTTP_POST, body = body })
local text, id = translate.to_version_1(reply.body, own)

local store = redis:new()
assert(store:connect("unix:" .. ngx.var.redis_socket))
store:init_pipeline(2)
store:set("name:" .. (own or id), id)
store:set("quote:" .. id, cjson.encode({ own = own, facts = body }))
local saved = assert(store:commit_pipeline())
for _, result in ipairs(saved) do assert(result == "OK") end
store:set_keepalive(KEPT_MS, KEPT_CONNECTIONS)

ngx.status = reply.status
ngx.header["Content-Type"] = "application/json"
ngx.header["Content-Length"] = #text
ngx.print(text)
