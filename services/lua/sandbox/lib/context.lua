-- ctx: what a run knows of itself, with what is left of its budget. Nothing in it can be written.
local host = ...

return function(ctx)
  function ctx.budget()
    local b = host.call("budget", {})
    local instructions, memory = host.left()
    return {
      instructions = instructions,
      memory = memory,
      api_calls = b.api_calls,
      http_calls = b.http_calls,
    }
  end
  function ctx.deadline_ms()
    return host.call("budget", {}).deadline_ms
  end
  return host.read_only(ctx, "ctx")
end
