-- Delivered shipments are reported to an ERP: one POST per delivery, with the event's id as
-- Idempotency-Key, so that a repeated report can be told apart. What the ERP can't take at the
-- moment (no answer, 408, 429, 5xx) is tried again after 10 seconds, 1 minute and 5 minutes and is
-- then kept (wharf job list --queue wharf.lua_hook); what it refuses is logged and not tried again.
-- A reported shipment has the event's id in metadata.erp. Where: settings/erp.lua. For module
-- shipments.

local settings = require("settings.erp")

local function report(ev)
  local s = ev.data
  local headers = { ["idempotency-key"] = ev.id }
  if settings.token then headers.authorization = "Bearer " .. settings.token end
  return wharf.http.post(
    settings.url,
    {
      headers = headers,
      timeout_ms = 10000,
      json = {
        organization = ev.organization_id,
        shipment = s.id,
        tracking_number = s.tracking_number,
        location = ev.location_id,
        delivered_at = s.delivered_at,
        metadata = s.metadata,
      },
    }
  )
end

local function deliver(ev)
  local res, err = report(ev)
  if not res then wharf.fail("the ERP did not answer: " .. err.code, { retry = true }) end
  if res.status == 408 or res.status == 429 or res.status >= 500 then
    wharf.fail("the ERP answered " .. res.status, { retry = true })
  end
  if res.status >= 300 then
    wharf.fail(
      "the ERP refused shipment "
        .. ev.resource_id
        .. " with "
        .. res.status
        .. ": "
        .. res.body:sub(1, 200),
      { retry = false }
    )
  end
  local _, failed =
    wharf.api.post("/v1/shipments/" .. ev.resource_id, { metadata = { erp = ev.id } })
  if failed then wharf.log.warn("the shipment could not be marked", failed) end
end

if settings.url then wharf.hook.on_event("shipment.delivered", deliver) end
