-- A tracker of the loading dock says so.
wharf.hook.before("tracker", "create", function(change)
  if change.input.metadata and change.input.metadata.dock == "" then
    wharf.reject("tracker_dock", "Say which dock it is", "metadata.dock")
  end
end)
