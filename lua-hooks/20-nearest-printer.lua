-- The label of a parcel comes out where the parcel is. A print job whose resource is a parcel, and
-- that names no station or printer, and no location but the parcel's own, goes to the parcel's
-- location when a printer is online there, else to the nearest location with one: by coordinates
-- where both addresses have them, else by postal code, city, state and country. Which printer of
-- that location prints it, the server decides as ever. Without any online printer the job goes to
-- the parcel's own location and waits there. For modules parcels and stations. Organizations have
-- the same as a workflow: wharf lua init DIR --template nearest-printer.

local PLACES = [[
  SELECT l.id, l.address, l.id = $1 AS own,
    EXISTS (SELECT FROM stations.print_station s
      JOIN stations.printer p ON p.organization_id = s.organization_id AND p.station_id = s.id
      WHERE s.organization_id = l.organization_id AND s.location_id = l.id
        AND s.status = 'online' AND s.deleted_at IS NULL
        AND p.status IN ('online', 'busy') AND p.deleted_at IS NULL) AS prints
  FROM locations.location l WHERE l.deleted_at IS NULL AND l.active]]

-- Kilometres on a sphere, the shorter way around it.
local function distance(a, b)
  local rad = math.pi / 180
  local east = (b[2] - a[2] + 540) % 360 - 180
  local x = east * rad * math.cos((a[1] + b[1]) / 2 * rad)
  local y = (b[1] - a[1]) * rad
  return 6371 * math.sqrt(x * x + y * y)
end

local function known(v) return type(v) == "table" and #v == 2 end

-- Smaller is nearer. Addresses without coordinates are told apart by what they share, and come
-- behind those that are measured.
local function remoteness(from, to)
  if known(from.coordinates) and known(to.coordinates) then
    return distance(from.coordinates, to.coordinates)
  end
  local far = 100000
  for _, part in ipairs { "country_code", "state", "city", "postal_code" } do
    if from[part] == nil or from[part] == wharf.null or from[part] ~= to[part] then break end
    far = far - 1000
  end
  return far
end

local function nearest(location)
  local own, best, least
  local places = wharf.db.query(PLACES, location)
  for _, place in ipairs(places) do
    if place.own then own = place end
  end
  if not own or own.prints then return location end
  for _, place in ipairs(places) do
    local far = place.prints and remoteness(own.address, place.address)
    if far and (not least or far < least or (far == least and place.id < best)) then
      best, least = place.id, far
    end
  end
  return best or location
end

-- A member that is null says as little as one that is not there.
local function said(v)
  if v ~= wharf.null then return v end
end

wharf.hook.before("print_job", "create", function(change)
  local job = change.input
  local named = said(job.print_station_id) or said(job.printer_id) or said(job.printer_name)
  local resource = said(job.resource)
  if named or not resource or resource.type ~= "parcel" then return end
  local sql = "SELECT location_id FROM parcels.parcel WHERE id = $1 AND deleted_at IS NULL"
  local row = wharf.db.query(sql, resource.id)[1]
  if not row or row.location_id == wharf.null then return end
  if not said(job.location_id) or job.location_id == row.location_id then
    job.location_id = nearest(row.location_id)
  end
end)
