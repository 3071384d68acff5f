-- Routes of an operator, for the linters: each option that the description shows.
local ANY = { scope = "any", location = "none" }

wharf.hook.route(
  "GET",
  "/v1/x/docks",
  {
    scope = "locations:read",
    location = "row",
    list = true,
    filters = { status = "string", size = "number" },
    summary = "Docks",
    description = "All docks of the key's locations.",
    response = { type = "array", items = { type = "object" } },
  },
  function() return {} end
)
wharf.hook.route(
  "POST",
  "/v1/x/docks",
  {
    scope = "locations:write",
    location = "body",
    statuses = { 200, 201 },
    query = { dry = { type = "boolean" } },
    body = {
      type = "object",
      required = { "name" },
      properties = { name = { type = "string" }, location_id = { type = "string" } },
    },
  },
  function() return {} end
)
wharf.hook.route(
  "GET",
  "/v1/x/docks/:dock/table",
  { scope = "public", location = "none", content_type = "text/csv; charset=utf-8" },
  function() return {} end
)
wharf.hook.route(
  "PUT",
  "/v1/x/docks/:dock/table",
  { scope = "any", location = "none", raw = true },
  function() end
)
wharf.hook.route("DELETE", "/v1/x/docks/:dock", ANY, function() end)
