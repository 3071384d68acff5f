---@meta
-- Annotations of Wharf's Lua for editors (https://luals.github.io), written by `wharf lua doc
-- --annotations`. Functions that there are at run time: docs/spec/08 §5.

---@class wharf.run
---@field id string
---@field key string stays the same over retries
---@field attempt integer counts from 1
---@field seed integer of math.random
---@field depth integer how many workflows started one another before
---@field trigger table {type, name}

---@class wharf.ctx
---@field run wharf.run
---@field workflow table {id, name, version}
---@field organization_id string
---@field location_id string?
---@field actor string
---@field settings table of workflow.json; read-only
---@field event_id string?
---@field deadline_ms fun(): integer milliseconds that are left
---@field budget fun(): table {instructions, memory, api_calls, http_calls} that are left

---@class wharf.actor
---@field type string user, device, api_key, workflow or system
---@field id string
---@field name string?

---@class wharf.event
---@field id string
---@field object "event"
---@field type string parcel.created
---@field timestamp string
---@field api_version string
---@field sequence integer
---@field organization_id string
---@field location_id string?
---@field resource_type string?
---@field resource_id string?
---@field batch_id string?
---@field actor wharf.actor
---@field data table the row as it was then

---@class wharf.change
---@field resource string
---@field action "create"|"update"|"delete"
---@field id string
---@field location_id string?
---@field old table? nil on create
---@field input table what was sent; a before hook may assign to its fields
---@field without string[]? names of what was sent and is left out of input
---@field new table? the row as it would be, or is

---@class wharf.request
---@field method string
---@field path string
---@field params table<string, string> what :name of the path took
---@field query table<string, string|string[]>
---@field headers table<string, string> names in small letters
---@field body string
---@field json any the body, when it is JSON
---@field remote_addr string
---@field key table? {id, user_id, device_id}

---@class wharf.answer
---@field status integer
---@field headers table<string, string>?
---@field body any a table is sent as JSON
---@field body_base64 string? bytes, instead of body

---@class wharf.tick
---@field scheduled_at string
---@field actual_at string
---@field local_time string what the clock of the zone shows

---@class wharf.error
---@field code string
---@field message string
---@field status integer?
---@field errors string[]?

---@class wharf.workflow
---@field on_event? fun(event: wharf.event, ctx: wharf.ctx): any
---@field on_http? fun(request: wharf.request, ctx: wharf.ctx): wharf.answer|any
---@field on_schedule? fun(tick: wharf.tick, ctx: wharf.ctx): any
---@field on_run? fun(input: table, ctx: wharf.ctx): any
---@field before? fun(change: wharf.change, ctx: wharf.ctx)
---@field after? fun(change: wharf.change, ctx: wharf.ctx): any

