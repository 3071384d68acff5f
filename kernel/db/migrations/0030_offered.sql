-- wharf: phase=expand
-- Views of the kernel that a module puts its own in place of. Migrations of plugins change nothing else outside of their schema.
COMMENT ON VIEW wharf.subscriber IS 'wharf:offered';
COMMENT ON VIEW wharf.event_delivery IS 'wharf:offered';
