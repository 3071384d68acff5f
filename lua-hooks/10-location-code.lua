-- A location has a code: labels, scanners and spreadsheets know it by nothing else. Refuses a new
-- location without one, and an update that takes the code away. Locations that have none stay as
-- they are.

local function empty(code)
  return code == nil or code == wharf.null or wharf.text.trim(code) == ""
end

local function refuse()
  wharf.reject("location_code", "Give the location a code", "code")
end

wharf.hook.before("location", "create", function(change)
  if empty(change.input.code) then refuse() end
end)

wharf.hook.before("location", "update", function(change)
  if not empty(change.old.code) and empty(change.new.code) then refuse() end
end)
