-- A location has a code: 10-location-code.lua.

local function before(over)
  over.resource = "location"
  return test.run("before", test.change(over))
end

test.case("a new location with a code is taken", function()
  test.eq(before { input = { name = "Dock", code = "D1" } }.status, "succeeded")
end)

test.case("a new location without one is refused", function()
  for _, code in ipairs { "", "  ", wharf.null } do
    local r = before { input = { name = "Dock", code = code } }
    test.same(
      r.rejected,
      { code = "location_code", message = "Give the location a code", field = "code" }
    )
  end
  test.eq(before { input = { name = "Dock" } }.status, "rejected")
end)

test.case("the code can be changed, and not be taken away", function()
  test.eq(
    before { action = "update", old = { code = "A" }, input = { code = "B" } }.status,
    "succeeded"
  )
  test.eq(
    before {
      action = "update",
      old = { code = "A" },
      input = { code = wharf.null },
      new = { code = wharf.null },
    }.status,
    "rejected"
  )
end)

test.case("a location that never had one stays as it is", function()
  test.eq(
    before {
      action = "update",
      old = { code = wharf.null },
      input = { name = "x" },
      new = { code = wharf.null },
    }.status,
    "succeeded"
  )
end)
