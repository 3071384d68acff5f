-- Delivered shipments are reported to an ERP: 30-erp-deliveries.lua.

local delivered

test.before_each(function()
  test.file(
    "settings.erp",
    'return { url = "https://erp.example.com/deliveries", token = "t0ken" }'
  )
  test.api("POST", "/v1/shipments/*", { data = {} })
  delivered = test.event("shipment.delivered", { tracking_number = "1Z" })
end)

local function report(reply)
  test.http("POST", "https://erp.example.com/deliveries", reply)
  return test.run("on_event", delivered)
end

test.case("one request per delivery, then a mark", function()
  local r = report { status = 201 }
  test.eq(r.status, "succeeded")
  test.eq(#r.http, 1)
  test.eq(r.http[1].headers.authorization, "Bearer t0ken")
  test.eq(r.http[1].headers["idempotency-key"], delivered.id)
  local body = wharf.json.decode(r.http[1].body)
  test.eq(body.shipment, delivered.data.id)
  test.eq(body.tracking_number, "1Z")
  test.eq(r.api[1].path, "/v1/shipments/" .. delivered.resource_id)
  test.same(r.api[1].body, { metadata = { erp = delivered.id } })
end)

test.case("what it can't take at the moment is tried again", function()
  for _, status in ipairs { 408, 429, 500, 503 } do
    local r = report { status = status }
    test.eq(r.status, "failed")
    test.eq(r.error.retry, true)
    test.eq(#r.api, 0)
  end
  test.eq(report { code = "http.timeout" }.error.retry, true)
end)

test.case("what it refuses is not", function()
  local r = report { status = 422, body = "no such article" }
  test.eq(r.error.retry, false)
  test.match(r.error.message, "422: no such article")
end)

test.case("a mark that fails is logged", function()
  test.api("POST", "/v1/shipments/*", { status = 404, code = "not_found" })
  local r = report { status = 200 }
  test.eq(r.status, "succeeded")
  test.eq(r.logs[1].level, "warn")
end)

test.case("without an address nothing is registered", function()
  test.file("settings.erp", "return {}")
  local r = test.run("on_event", delivered)
  test.match(r.error.message, "no hook")
end)
