-- Translates a quote in nginx, sends it over the kept connections of the upstream, and translates the reply.
local translate = require("translate")

ngx.req.read_body()
local body, own = translate.to_version_2(ngx.req.get_body_data())
local reply = ngx.location.capture("/service/v2/quote", { method = ngx.HTTP_POST, body = body })
ngx.status = reply.status
ngx.header["Content-Type"] = "application/json"
local text = translate.to_version_1(reply.body, own)
ngx.header["Content-Length"] = #text
ngx.print(text)
