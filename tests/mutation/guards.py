"""Guards of what others must not see, do or hold up, each with a way to take it away.

(guard, name of its file, text, what it is replaced by, tests that must then fail). A file is named without its folder: the one that has the text is meant.
"""
TOLD, WALLS, HEADS = "tests/isolation/test_told.py", "tests/isolation/test_walls.py", "tests/api/http/test_http_heads.py"
OUT = "tests/api/integrations/test_outgoing_walls.py"
WORKERS, READY, BLAME, PROCESSES = ("tests/api/operation/test_" + name + ".py" for name in ("workers", "readiness", "blame", "processes"))
FORMS, HOSTILE = "tests/api/org/test_secret_forms.py", "tests/api/http/test_hostile_bodies.py"
DECLARED = "tests/api/plugins/test_declarations.py"
SHARES, OWNERS = "tests/api/jobs/test_job_shares.py", "tests/api/webhooks/test_subscription_rights.py"
BESIDE = "tests/isolation/test_walls_beside.py::test_subscriptions_send_only_what_their_key_may_see"

PARTS = "tests/api/events/test_events_parts.py"
SERVICE, LEVELS = "tests/api/items/test_stock_service.py", "tests/api/items/test_levels.py"

GUARDS = [
    # ---- stock ----
    ("guard: levels are locked before they are read", "stock_write.sql", "FOR UPDATE OF l", "", SERVICE + "::test_groups_that_share_levels_beside_requests_never_hang"),
    ("guard: moves hold their items", "stock.c", "ORDER BY id FOR SHARE", "ORDER BY id", SERVICE + "::test_a_receipt_beside_a_delete_leaves_no_stock_of_a_deleted_item"),
    ("guard: moves hold their layouts", "stock_places.sql", "pg_advisory_xact_lock_shared(hashtextextended('items.layout:' || x.place, 0))", "1",
     LEVELS + "::test_layouts_removed_beside_receipts_keep_all_stock"),
    ("guard: thresholds are locked before stock is summed", "stock_low.sql", "ORDER BY h.item_id, h.location_id FOR UPDATE;", ";",
     SERVICE + "::test_two_that_cross_a_threshold_together_tell_it_once"),
    ("guard: totals count what the caller reaches", "schemas/items/item.json", "v.item_id = t.id AND ({caller.all_locations} OR v.location_id = ANY ({caller.locations}))", "v.item_id = t.id",
     LEVELS + "::test_levels_at_other_locations_are_hidden_and_not_counted"),
    # ---- who sees a row ----
    ("guard: rows of a route's path", "guard.c", "if (r->guards[i] && may_be_refused(req, r->guards[i]) && !check_access_of", "if (0 && !check_access_of",
     DECLARED + "::test_the_row_of_a_path_is_judged_for_a_handler_that_does_not_look"),
    ("guard: a row's one location", "access.c", "if (!id.n || principal_may_see(req->access.who, id) || is_own_device(&req->access, &d->audience, rec))", "if (1)", WALLS),
    ("guard: a row's one location, for who writes", "access.c", "if (!id.n || principal_may_see(req->access.who, id) || is_own_device(&req->access, &d->audience, rec))", "if (1)",
     WALLS + "::test_no_write_reaches_what_the_key_may_not_see"),
    ("guard: a row's set of locations", "access.c", ": !set.n || seen_by_location(&req->access.who->access, set))", ": true)", WALLS),
    ("guard: rows of several locations are for who reaches all of them", "seen.c", "        if (!seen_reaches(who, one))\n            return false;", "        (void)one;",
     TOLD + "::test_webhooks_of_other_locations"),
    ("guard: rows of all locations are for who reaches all", "seen.c", "return locations.n != 0;", "return true;", TOLD + "::test_webhooks_of_other_locations"),
    ("guard: locations of a record", "seen.c", "    return locations.n && !any;", "    return true;", TOLD),
    ("guard: the audience of a record", "access.c", "if (!what.by.audience.n || !who->user_id.n || seen_among(what.by.audience, who->user_id))", "if (1)", TOLD + " " + WALLS),
    ("guard: the audience of a row", "access.c", "if (!d->audience.users || !user.n || everybodys(&d->audience, rec) || seen_among(record_text(rec, d->audience.users), user))\n        return true;\n"
     "    req_problem(req, ERR_NOT_FOUND, record_id(rec)", "if (1)\n        return true;\n    req_problem(req, ERR_NOT_FOUND, record_id(rec)", TOLD + " " + WALLS + " tests/api/stations/test_stations.py"),
    ("guard: the audience of a job's station", "access.c", "if (!rec || everybodys(&of->def->audience, rec) || seen_among(record_text(rec, of->def->audience.users), user))", "if (1)",
     TOLD + "::test_print_jobs_of_stations_that_one_may_not_use"),
    ("guard: a row is judged through the row that it belongs to", "access.c", "    if (!other)\n        return true;\n    return res->def->audience.through && ", "    if (1)\n        return true;\n    return res->def->audience.through && ",
     TOLD + " " + WALLS),
    ("guard: the read scope of what a record tells of", "access.c", "if (recorded->resource && !principal_reads(req->access.who, what.resource))", "if (0)", WALLS + " tests/api/events/test_events.py tests/api/logs/test_logs.py"),
    ("guard: records in lists, by location", "list_sql.c", "if (!who->all_locations && r->locations) {", "if (0) {", TOLD),
    ("guard: records in lists, by audience", "list_sql.c", "    if (who->user_id.n) {\n        sql_addf(s, \" AND (%s IS NULL OR", "    if (0) {\n        sql_addf(s, \" AND (%s IS NULL OR",
     TOLD + "::test_print_jobs_of_stations_that_one_may_not_use"),
    ("guard: records in lists, by scope", "list_sql.c", "if (r->resource && !who->reads_all) {", "if (0) {", TOLD + "::test_events_do_not_get_round_read_scopes"),
    ("guard: requests in the log, by what their key reached", "list_sql.c", "    } else if (!who->all_locations) {\n        sql_addf(s, \" AND %s <@ \", r->reach);", "    } else if (0) {\n        sql_addf(s, \" AND %s <@ \", r->reach);",
     TOLD + "::test_requests_of_others"),
    ("guard: requests in the log, by what their key read", "list_sql.c", "if (r->areas && !who->reads_all) {", "if (0) {", TOLD + "::test_requests_of_others"),
    ("guard: a row that moves takes its event along", "history.c", "previous_attributes = $7::json, locations = $8::jsonb", "previous_attributes = $7::json, locations = COALESCE(locations, $8::jsonb)", TOLD),
    ("guard: the live stream", "stream_hub.c", "wanted(st, e) ? event_for(a, st->who, NULL, e) : NULL", "wanted(st, e) ? e : NULL", TOLD + "::test_the_live_stream_of_rows_with_several_locations"),
    ("guard: the parts of an event, by location and scope", "seen_parts.c", "return (!resource.n || query_reads(who, resource)) && seen_by_location(who, seen_one(a, at));", "return at.n + 1 > 0;", PARTS),
    ("guard: the parts of an event, of a webhook's locations", "delivery.c", "hooks_events->for_reader(req, w->reader, w->locations, e);", "hooks_events->for_reader(req, w->reader, NULL, e);", PARTS),
    ("guard: links to rows that one does not see", "references.c", "return missing != NULL && refuse_unseen(req, writes, n, f, lists, refused);", "return missing != NULL || refuse_unseen(req, writes, n, f, lists, refused);",
     TOLD + "::test_links_to_rows_of_other_locations"),
    ("guard: an answer is given again to who reaches as much", "idempotency.c", "if (!may_be_shown(req, r))", "if (0 && !may_be_shown(req, r))", TOLD + "::test_a_replay_judges_places"),
    ("guard: the admin listener has no API", "http_check.c", "return !req->engine->admin || (req->route->kind == ROUTE_KERNEL && req->route->silent);", "return true;", WALLS + "::test_the_admin_listener_has_no_api"),
    ("guard: a bad row of another place is not named", "seal.c", "if (req->access.who->access.all_locations)", "if (1)", "tests/api/logs/test_logs.py"),
    ("guard: addresses of places that one does not reach", "location_address.c", "    if (who->all_locations)\n        return WHARF_OK;\n    s = query_about", "    if (1)\n        return WHARF_OK;\n    s = query_about", "tests/api/locations/test_locations.py"),
    ("guard: nobody computes an address's id", "location_address.c", "locations_crypto->keyed_hash(req, \"locations.address\", normal_of(req, a, true), hash);", "wharf_str plain = locations_text->sha256(req, normal_of(req, a, true));\n\n    for (int i = 0; i < 32; i++)\n        sscanf(plain.p + 2 * i, \"%2hhx\", &hash[i]);",
     "tests/api/locations/test_locations.py"),
    # ---- whose rights ----
    ("guard: a webhook sends what its key may see", "delivery.c", "e = hooks_events->for_reader(req, w->reader, w->locations, e);", "(void)req;", TOLD + "::test_a_webhook_has_the_rights_of_its_key"),
    ("guard: a webhook sends what its key may see, in the walk", "delivery.c", "e = hooks_events->for_reader(req, w->reader, w->locations, e);", "(void)req;", BESIDE),
    ("guard: an integration sends what its key may see", "outgoing.c", "int_events->for_reader(req, readers[k], row_json(wanting, k, 2), events[i]);", "events[i];", OWNERS),
    ("guard: an integration sends what its key may see, in the walk", "outgoing.c", "int_events->for_reader(req, readers[k], row_json(wanting, k, 2), events[i]);", "events[i];", BESIDE),
    ("guard: a workflow hears what its publisher may see", "workflow_triggers.c", "flow_events->for_reader(req, l->reader, l->locations, e);", "e;", TOLD + "::test_workflows_hear_what_their_publisher_may_see"),
    ("guard: a workflow hears what its publisher may see, in the walk", "workflow_triggers.c", "flow_events->for_reader(req, l->reader, l->locations, e);", "e;", BESIDE),
    ("guard: who chooses the url gives the rights", "webhook_rules.c", " &&\n        !W->res->changed(old_rec, new_rec, WEBHOOK_URL) && !W->res->changed(old_rec, new_rec, WEBHOOK_PAYLOAD))", ")", OWNERS),
    ("guard: a subscription needs the read scopes", "webhook_checks.c", "            hooks_events->need_pattern(req, pattern);", "            (void)pattern;", TOLD + "::test_events_do_not_get_round_read_scopes"),
    ("guard: a stream needs the read scopes", "stream_open.c", "if (!str_ends(st->types[i], \"*\"))", "if (0)", TOLD + "::test_events_do_not_get_round_read_scopes"),
    ("guard: users of other places", "users.c", "s = old_rec ? reach_user(req, old_rec, op == WHARF_DELETE ? NULL : new_rec) : WHARF_OK;", "s = WHARF_OK;", TOLD + "::test_nobody_widens_access"),
    ("guard: keys that reach more", "reach.c", "if (who->all_locations || same(org_host->res->id(key), who->key_id))", "if (1)", TOLD + "::test_nobody_widens_access"),
    ("guard: devices of other places", "reach.c", "    return reach_allowed(req, get_truth(rec, DEVICE_ALLOW_ALL_LOCATIONS, true), field_json(rec, DEVICE_LOCATIONS));", "    return WHARF_OK;", TOLD + "::test_nobody_widens_access"),
    ("guard: runs show their insides to authors", "workflow_run.c", "if (flow_keys->level(req, WHARF_S(\"workflow\")) >= WHARF_LEVEL_WRITE ||", "if (1 ||", TOLD + " tests/api/workflows/test_workflow_runs.py"),
    # ---- connections and heads ----
    ("guard: connections are of one organization", "net_pool.c", "if (p && p->owner_size == owner.n && memcmp(p->owner, owner.p, owner.n) == 0) {", "if (p) {", OUT + "::test_connections_are_of_one_organization"),
    *((f"guard: the header {name} is reserved", "header.c", f'"{name}"', '"x-nothing"', OUT) for name in
      ("connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")),
    ("guard: reserved in any case", "header.c", "strncasecmp(name.p, reserved[i], name.n) == 0", "memcmp(name.p, reserved[i], name.n) == 0", OUT),
    ("guard: no control character in a header that is sent", "header.c", "if ((c < ' ' && c != '\\t') || c == 0x7F)", "if (0 && c)", OUT + "::test_no_workflow_ends_a_header"),
    ("guard: one Content-Length", "head_line.c", "if (++k->n_lengths > 1)", "if (++k->n_lengths > 9)", HEADS),
    ("guard: one Host", "head_line.c", "if (++k->n_hosts > 1)", "if (++k->n_hosts > 9)", HEADS),
    ("guard: Content-Length or chunks", "head_line.c", "if (k->coded && k->n_lengths)", "if (0)", HEADS),
    ("guard: chunked comes last and once", "head_line.c", "if (k->coded && (k->coding_twice || !k->chunked))", "if (0)", HEADS),
    ("guard: HTTP/1.0 has no chunks", "head_line.c", "if (k->coded && !k->minor)", "if (0)", HEADS),
    ("guard: a colon directly behind the name", "head_line.c", "if (!name || name == n || line[name] != ':')", "while (name < n && head_line_is(line[name], SPACE))\n        name++;\n    if (!name || name == n || line[name] != ':')", HEADS),
    ("guard: no control character in a header that comes", "head_line.c", "if (head_line_run(line + from, n - from, TEXT) != n - from)", "if (0)", HEADS),
    ("guard: the size of a chunk", "head_line.c", "if (size >> 58)", "if (0)", HEADS + " tests/unit"),
    ("guard: extensions of chunks", "head_line.c", "if (!extensions_good(line + digits, n - digits))", "if (0)", HEADS),
    ("guard: a slow head behind another is told so", "loop.c", "bool begun = head_tap_waits(&p->tap);", "bool begun = false;", HEADS + "::test_a_slow_second_head_is_told_so"),
    # ---- what one request or plugin may cost others ----
    ("guard: a hundred problems", "request.h", "enum { PROBLEMS_MAX = 100 };", "enum { PROBLEMS_MAX = 1000000 };", HOSTILE + "::test_problems_are_told_up_to_a_hundred"),
    ("guard: the length of a list is judged first", "body_array.c", "if (v->count <= most)\n        return true;", "if (1 || most)\n        return true;", HOSTILE + "::test_length_is_judged_before_elements"),
    ("guard: memory of a request", "arena.c", "return a->budget && a->total > a->budget;", "return false && a->budget;", DECLARED),
    ("guard: a stranger's share of threads", "threads.c", "return s->admitted < (t->n + 1) / 2 && t->shared < t->n - 1;", "return s && t;", WORKERS + "::test_strangers_leave_threads_to_others"),
    ("guard: a share of threads for long routes", "threads.c", "r->plugin && route_is_long(r) ?", "r->plugin && route_is_long(r) && !t->n ?",
     "tests/api/templates/test_template_failures.py::test_drawings_leave_threads_to_others"),
    ("guard: a stranger's share of job threads", "job_share.c", "return j->kind->owner && (own->busy >= own->most || all->busy >= all->most);", "return j->kind->owner && own->busy > 999 && all->busy > 999;", SHARES),
    ("guard: a stranger's share of threads for long jobs", "job_share.c", ".most = at_least_one(c->n * percent / 100)", ".most = at_least_one(c->n + 0 * percent)",
     "'" + SHARES + "::test_half_of_the_threads[long]'"),
    ("guard: hooks of a quarantined plugin sleep", "register.c", "if (!hook.res && !absent)", "if (!hook.res)", WORKERS + "::test_hooks_of_a_quarantined_plugin_sleep"),
    ("guard: sockets of workers that are down", "seat.c", "seat->shut = shutdown(seat->listen_fd, SHUT_RD) == 0;", "seat->shut = true;", "tests/supervisor"),
    ("guard: who ends the process is told", "exit_tap.c", "crash_by_exit(\"_exit\", code);", "(void)code;", BLAME + "::test_the_end_of_a_process_names_the_plugin"),
    ("guard: who takes all memory is remembered", "greed.c", "if (who && atomic_load(&who->since_us))", "if (0)", BLAME + "::test_who_takes_all_memory_is_named"),
    ("guard: a worker that grows is replaced", "watch.c", "if (!limit || used < soft)", "if (1)", WORKERS + "::test_a_plugin_that_leaks_is_replaced_before_its_limit"),
    ("guard: what a check hook sets is judged", "ruled.c", "return ok ? WHARF_OK : req_fail", "return ok || 1 ? WHARF_OK : req_fail", DECLARED),
    ("guard: migrations write rows of their plugin only", "migrate_walls.c", "if (is_catalogue(after, i) || same_count(before, after, i))", "if (is_catalogue(after, i) || before)", DECLARED),
    ("guard: a catalogue that a migration wrote is looked at", "migrate_walls.c", "if (is_catalogue(after, i) && !same_count(before, after, i))", "if (is_catalogue(after, i) && !before)", DECLARED),
    ("guard: tables are as the definitions say", "setup.c", "good = tables_check(conn, e, &problems);", "good = true;", DECLARED),
    ("guard: declarations fit each other", "registry.c", "        declare_check(&decl);\n", "", DECLARED),
    # ---- readiness ----
    ("guard: ready without connections", "health.c", "    look_at_connections(h);\n", "", READY + "::test_connections_are_exhausted"),
    ("guard: ready without roles", "health.c", "        look_at_roles(h, pg);\n", "", READY + "::test_role_and_rights_are_missing_after_a_restore"),
    ("guard: ready without storage", "health.c", "    look_at_storage(h);\n", "", READY + "::test_the_folder_of_files_is_gone"),
    ("guard: ready with workers that can't start", "health.c", "if (n && down == n)", "if (0)", WORKERS + "::test_a_damaged_plugin_and_a_dead_worker"),
    ("guard: ready while log lines are lost", "health.c", "if (last && now - last < LOST_US)", "if (0)", READY + "::test_lines_that_a_full_disk_takes_away_are_counted"),
    # ---- secrets and processes ----
    ("guard: a secret in another case", "hide.c", "if (strncasecmp(value.p + i, bytes, 1) != 0) {\n            took = one_character(p + k, left - k, true, bytes, &n);\n            if (n > value.n - i || strncasecmp(value.p + i, bytes, n) != 0)",
     "if (memcmp(value.p + i, bytes, 1) != 0) {\n            took = one_character(p + k, left - k, true, bytes, &n);\n            if (n > value.n - i || memcmp(value.p + i, bytes, n) != 0)", FORMS),
    ("guard: a secret in hex", "hide.c", "        if (!*ret_n)\n            *ret_n = hex_at(", "        if (0)\n            *ret_n = hex_at(", FORMS),
    ("guard: a secret in base64 behind a name", "hide.c", "size_t n = before + s.n, room", "size_t n = (before = 0) + s.n, room", FORMS),
    ("guard: a secret escaped as in JSON", "hide.c", "if (bars && bars < left && p[bars] == 'u' && ", "if (0 && ", FORMS),
    ("guard: a secret escaped as in URLs", "hide.c", "if (*p == '%' && (number", "if (0 && (number", FORMS),
    ("guard: overrides are blanked in the arguments", "cli.c", "    memset(value, 0, strlen(value));\n", "", PROCESSES + "::test_no_secret_stands_in_the_arguments_of_any_process"),
    ("guard: workers are of the user of the settings", "user.c", "    ret->drops = true;\n", "", PROCESSES + "::test_workers_and_cells_are_of_the_user"),
]
