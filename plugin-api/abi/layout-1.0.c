/* Made by tools/layout_gen.py when this minor was released; never edited. Compiles against every later header. */
#include "wharf/plugin.h"

_Static_assert(sizeof(wharf_head) == 8, "wharf_head is closed");
_Static_assert(sizeof(wharf_str) == 16, "wharf_str is closed");
_Static_assert(sizeof(wharf_val) == 24, "wharf_val is closed");
_Static_assert(offsetof(wharf_head, size) == 0, "wharf_head.size moved");
_Static_assert(offsetof(wharf_head, major) == 4, "wharf_head.major moved");
_Static_assert(offsetof(wharf_head, minor) == 6, "wharf_head.minor moved");
_Static_assert(offsetof(wharf_str, p) == 0, "wharf_str.p moved");
_Static_assert(offsetof(wharf_str, n) == 8, "wharf_str.n moved");
_Static_assert(offsetof(wharf_val, type) == 0, "wharf_val.type moved");
_Static_assert(offsetof(wharf_val, scale) == 4, "wharf_val.scale moved");
_Static_assert(offsetof(wharf_val, u) == 8, "wharf_val.u moved");
_Static_assert(offsetof(wharf_mem_api, head) == 0, "wharf_mem_api.head moved");
_Static_assert(offsetof(wharf_mem_api, alloc) == 8, "wharf_mem_api.alloc moved");
_Static_assert(offsetof(wharf_mem_api, dup) == 16, "wharf_mem_api.dup moved");
_Static_assert(offsetof(wharf_mem_api, format) == 24, "wharf_mem_api.format moved");
_Static_assert(offsetof(wharf_mem_api, on_release) == 32, "wharf_mem_api.on_release moved");
_Static_assert(offsetof(wharf_mem_api, scope_begin) == 40, "wharf_mem_api.scope_begin moved");
_Static_assert(offsetof(wharf_mem_api, scope_end) == 48, "wharf_mem_api.scope_end moved");
_Static_assert(offsetof(wharf_mem_api, plugin_alloc) == 56, "wharf_mem_api.plugin_alloc moved");
_Static_assert(offsetof(wharf_mem_api, slot) == 64, "wharf_mem_api.slot moved");
_Static_assert(offsetof(wharf_err_api, head) == 0, "wharf_err_api.head moved");
_Static_assert(offsetof(wharf_err_api, fail) == 8, "wharf_err_api.fail moved");
_Static_assert(offsetof(wharf_err_api, add) == 16, "wharf_err_api.add moved");
_Static_assert(offsetof(wharf_err_api, current) == 24, "wharf_err_api.current moved");
_Static_assert(offsetof(wharf_err_api, clear) == 32, "wharf_err_api.clear moved");
_Static_assert(offsetof(wharf_err_api, base) == 40, "wharf_err_api.base moved");
_Static_assert(offsetof(wharf_log_api, head) == 0, "wharf_log_api.head moved");
_Static_assert(offsetof(wharf_log_api, level) == 8, "wharf_log_api.level moved");
_Static_assert(offsetof(wharf_log_api, write) == 16, "wharf_log_api.write moved");
_Static_assert(offsetof(wharf_req_api, head) == 0, "wharf_req_api.head moved");
_Static_assert(offsetof(wharf_req_api, organization) == 8, "wharf_req_api.organization moved");
_Static_assert(offsetof(wharf_req_api, actor) == 16, "wharf_req_api.actor moved");
_Static_assert(offsetof(wharf_req_api, param) == 24, "wharf_req_api.param moved");
_Static_assert(offsetof(wharf_req_api, body) == 32, "wharf_req_api.body moved");
_Static_assert(offsetof(wharf_req_api, need_scope) == 40, "wharf_req_api.need_scope moved");
_Static_assert(offsetof(wharf_req_api, need_location) == 48, "wharf_req_api.need_location moved");
_Static_assert(offsetof(wharf_req_api, now_us) == 56, "wharf_req_api.now_us moved");
_Static_assert(offsetof(wharf_req_api, deadline_us) == 64, "wharf_req_api.deadline_us moved");
_Static_assert(offsetof(wharf_req_api, cancelled) == 72, "wharf_req_api.cancelled moved");
_Static_assert(offsetof(wharf_req_api, new_id) == 80, "wharf_req_api.new_id moved");
_Static_assert(offsetof(wharf_req_api, respond) == 88, "wharf_req_api.respond moved");
_Static_assert(
    offsetof(wharf_req_api, thread_local_state) == 96, "wharf_req_api.thread_local_state moved");
_Static_assert(offsetof(wharf_req_api, created) == 104, "wharf_req_api.created moved");
_Static_assert(
    offsetof(wharf_req_api, access_changed) == 112, "wharf_req_api.access_changed moved");
_Static_assert(offsetof(wharf_req_api, one_time) == 120, "wharf_req_api.one_time moved");
_Static_assert(offsetof(wharf_req_api, page) == 128, "wharf_req_api.page moved");
_Static_assert(offsetof(wharf_req_api, paged) == 136, "wharf_req_api.paged moved");
_Static_assert(offsetof(wharf_json_api, head) == 0, "wharf_json_api.head moved");
_Static_assert(offsetof(wharf_json_api, type) == 8, "wharf_json_api.type moved");
_Static_assert(offsetof(wharf_json_api, get) == 16, "wharf_json_api.get moved");
_Static_assert(offsetof(wharf_json_api, at) == 24, "wharf_json_api.at moved");
_Static_assert(offsetof(wharf_json_api, count) == 32, "wharf_json_api.count moved");
_Static_assert(offsetof(wharf_json_api, text) == 40, "wharf_json_api.text moved");
_Static_assert(offsetof(wharf_json_api, integer) == 48, "wharf_json_api.integer moved");
_Static_assert(offsetof(wharf_json_api, decimal) == 56, "wharf_json_api.decimal moved");
_Static_assert(offsetof(wharf_json_api, parse) == 64, "wharf_json_api.parse moved");
_Static_assert(offsetof(wharf_json_api, put) == 72, "wharf_json_api.put moved");
_Static_assert(offsetof(wharf_json_api, open) == 80, "wharf_json_api.open moved");
_Static_assert(offsetof(wharf_json_api, close) == 88, "wharf_json_api.close moved");
_Static_assert(offsetof(wharf_json_api, truth) == 96, "wharf_json_api.truth moved");
_Static_assert(offsetof(wharf_json_api, key) == 104, "wharf_json_api.key moved");
_Static_assert(offsetof(wharf_json_api, next) == 112, "wharf_json_api.next moved");
_Static_assert(offsetof(wharf_json_api, writer) == 120, "wharf_json_api.writer moved");
_Static_assert(offsetof(wharf_json_api, result_text) == 128, "wharf_json_api.result_text moved");
_Static_assert(offsetof(wharf_json_api, builder) == 136, "wharf_json_api.builder moved");
_Static_assert(offsetof(wharf_json_api, result) == 144, "wharf_json_api.result moved");
_Static_assert(offsetof(wharf_db_api, head) == 0, "wharf_db_api.head moved");
_Static_assert(offsetof(wharf_db_api, query) == 8, "wharf_db_api.query moved");
_Static_assert(offsetof(wharf_db_api, exec) == 16, "wharf_db_api.exec moved");
_Static_assert(offsetof(wharf_db_api, count) == 24, "wharf_db_api.count moved");
_Static_assert(offsetof(wharf_db_api, value) == 32, "wharf_db_api.value moved");
_Static_assert(offsetof(wharf_db_api, begin) == 40, "wharf_db_api.begin moved");
_Static_assert(offsetof(wharf_db_api, commit) == 48, "wharf_db_api.commit moved");
_Static_assert(offsetof(wharf_db_api, rollback) == 56, "wharf_db_api.rollback moved");
_Static_assert(offsetof(wharf_db_api, lock) == 64, "wharf_db_api.lock moved");
_Static_assert(offsetof(wharf_db_api, later) == 72, "wharf_db_api.later moved");
_Static_assert(offsetof(wharf_db_api, lock_many) == 80, "wharf_db_api.lock_many moved");
_Static_assert(offsetof(wharf_db_api, limit) == 88, "wharf_db_api.limit moved");
_Static_assert(offsetof(wharf_db_api, limit_end) == 96, "wharf_db_api.limit_end moved");
_Static_assert(offsetof(wharf_write, head) == 0, "wharf_write.head moved");
_Static_assert(offsetof(wharf_write, resource) == 8, "wharf_write.resource moved");
_Static_assert(offsetof(wharf_write, op) == 16, "wharf_write.op moved");
_Static_assert(offsetof(wharf_write, reserved) == 20, "wharf_write.reserved moved");
_Static_assert(offsetof(wharf_write, id) == 24, "wharf_write.id moved");
_Static_assert(offsetof(wharf_write, body) == 40, "wharf_write.body moved");
_Static_assert(offsetof(wharf_write, kind) == 48, "wharf_write.kind moved");
_Static_assert(offsetof(wharf_write, context) == 56, "wharf_write.context moved");
_Static_assert(offsetof(wharf_write, ret_rec) == 64, "wharf_write.ret_rec moved");
_Static_assert(offsetof(wharf_res_api, head) == 0, "wharf_res_api.head moved");
_Static_assert(offsetof(wharf_res_api, fetch) == 8, "wharf_res_api.fetch moved");
_Static_assert(offsetof(wharf_res_api, list) == 16, "wharf_res_api.list moved");
_Static_assert(offsetof(wharf_res_api, create) == 24, "wharf_res_api.create moved");
_Static_assert(offsetof(wharf_res_api, update) == 32, "wharf_res_api.update moved");
_Static_assert(offsetof(wharf_res_api, remove) == 40, "wharf_res_api.remove moved");
_Static_assert(offsetof(wharf_res_api, get) == 48, "wharf_res_api.get moved");
_Static_assert(offsetof(wharf_res_api, set) == 56, "wharf_res_api.set moved");
_Static_assert(offsetof(wharf_res_api, changed) == 64, "wharf_res_api.changed moved");
_Static_assert(offsetof(wharf_res_api, narrow) == 72, "wharf_res_api.narrow moved");
_Static_assert(offsetof(wharf_res_api, encode) == 80, "wharf_res_api.encode moved");
_Static_assert(offsetof(wharf_res_api, sent) == 88, "wharf_res_api.sent moved");
_Static_assert(offsetof(wharf_res_api, id) == 96, "wharf_res_api.id moved");
_Static_assert(offsetof(wharf_res_api, input) == 104, "wharf_res_api.input moved");
_Static_assert(offsetof(wharf_res_api, member) == 112, "wharf_res_api.member moved");
_Static_assert(offsetof(wharf_res_api, drop) == 120, "wharf_res_api.drop moved");
_Static_assert(offsetof(wharf_res_api, hit) == 128, "wharf_res_api.hit moved");
_Static_assert(offsetof(wharf_res_api, write) == 136, "wharf_res_api.write moved");
_Static_assert(offsetof(wharf_res_api, context) == 144, "wharf_res_api.context moved");
_Static_assert(offsetof(wharf_res_api, scratch) == 152, "wharf_res_api.scratch moved");
_Static_assert(offsetof(wharf_res_api, shared) == 160, "wharf_res_api.shared moved");
_Static_assert(offsetof(wharf_res_api, changed_any) == 168, "wharf_res_api.changed_any moved");
_Static_assert(offsetof(wharf_res_api, row_kept) == 176, "wharf_res_api.row_kept moved");
_Static_assert(offsetof(wharf_res_api, hits_more) == 184, "wharf_res_api.hits_more moved");
_Static_assert(offsetof(wharf_res_api, links) == 192, "wharf_res_api.links moved");
_Static_assert(offsetof(wharf_res_api, encode_many) == 200, "wharf_res_api.encode_many moved");
_Static_assert(offsetof(wharf_event_api, head) == 0, "wharf_event_api.head moved");
_Static_assert(offsetof(wharf_event_api, emit) == 8, "wharf_event_api.emit moved");
_Static_assert(offsetof(wharf_event_api, enqueue) == 16, "wharf_event_api.enqueue moved");
_Static_assert(offsetof(wharf_event_api, progress) == 24, "wharf_event_api.progress moved");
_Static_assert(offsetof(wharf_event_api, emit_many) == 32, "wharf_event_api.emit_many moved");
_Static_assert(offsetof(struct wharf_host, head) == 0, "wharf_host.head moved");
_Static_assert(offsetof(struct wharf_host, server_version) == 8, "wharf_host.server_version moved");
_Static_assert(offsetof(struct wharf_host, service) == 16, "wharf_host.service moved");
_Static_assert(offsetof(struct wharf_host, mem) == 24, "wharf_host.mem moved");
_Static_assert(offsetof(struct wharf_host, err) == 32, "wharf_host.err moved");
_Static_assert(offsetof(struct wharf_host, log) == 40, "wharf_host.log moved");
_Static_assert(offsetof(struct wharf_host, req) == 48, "wharf_host.req moved");
_Static_assert(offsetof(struct wharf_host, json) == 56, "wharf_host.json moved");
_Static_assert(offsetof(struct wharf_host, db) == 64, "wharf_host.db moved");
_Static_assert(offsetof(struct wharf_host, res) == 72, "wharf_host.res moved");
_Static_assert(offsetof(struct wharf_host, event) == 80, "wharf_host.event moved");
_Static_assert(offsetof(wharf_hooks, head) == 0, "wharf_hooks.head moved");
_Static_assert(offsetof(wharf_hooks, normalize) == 8, "wharf_hooks.normalize moved");
_Static_assert(offsetof(wharf_hooks, check) == 16, "wharf_hooks.check moved");
_Static_assert(offsetof(wharf_hooks, written) == 24, "wharf_hooks.written moved");
_Static_assert(offsetof(wharf_hooks, committed) == 32, "wharf_hooks.committed moved");
_Static_assert(offsetof(wharf_hooks, restrict_rows) == 40, "wharf_hooks.restrict_rows moved");
_Static_assert(offsetof(wharf_hooks, compute) == 48, "wharf_hooks.compute moved");
_Static_assert(offsetof(wharf_hooks, batch_item) == 56, "wharf_hooks.batch_item moved");
_Static_assert(offsetof(wharf_hooks, search) == 64, "wharf_hooks.search moved");
_Static_assert(offsetof(wharf_hooks, check_many) == 72, "wharf_hooks.check_many moved");
_Static_assert(offsetof(wharf_hooks, written_many) == 80, "wharf_hooks.written_many moved");
_Static_assert(offsetof(wharf_hooks, batch_items) == 88, "wharf_hooks.batch_items moved");
_Static_assert(offsetof(wharf_hooks, look_ahead) == 96, "wharf_hooks.look_ahead moved");
_Static_assert(offsetof(wharf_hooks, ops) == 104, "wharf_hooks.ops moved");
_Static_assert(offsetof(wharf_hooks, reserved) == 108, "wharf_hooks.reserved moved");
_Static_assert(offsetof(wharf_resource, head) == 0, "wharf_resource.head moved");
_Static_assert(offsetof(wharf_resource, name) == 8, "wharf_resource.name moved");
_Static_assert(offsetof(wharf_resource, definition) == 16, "wharf_resource.definition moved");
_Static_assert(
    offsetof(wharf_resource, definition_hash) == 32, "wharf_resource.definition_hash moved");
_Static_assert(offsetof(wharf_resource, hooks) == 40, "wharf_resource.hooks moved");
_Static_assert(offsetof(wharf_route, head) == 0, "wharf_route.head moved");
_Static_assert(offsetof(wharf_route, method) == 8, "wharf_route.method moved");
_Static_assert(offsetof(wharf_route, path) == 16, "wharf_route.path moved");
_Static_assert(offsetof(wharf_route, scope) == 24, "wharf_route.scope moved");
_Static_assert(offsetof(wharf_route, definition) == 32, "wharf_route.definition moved");
_Static_assert(offsetof(wharf_route, handler) == 48, "wharf_route.handler moved");
_Static_assert(offsetof(wharf_route, arg) == 56, "wharf_route.arg moved");
_Static_assert(offsetof(wharf_route, flags) == 64, "wharf_route.flags moved");
_Static_assert(offsetof(wharf_route, reserved) == 68, "wharf_route.reserved moved");
_Static_assert(offsetof(wharf_verify_api, head) == 0, "wharf_verify_api.head moved");
_Static_assert(offsetof(wharf_verify_api, each) == 8, "wharf_verify_api.each moved");
_Static_assert(offsetof(wharf_verify_api, looked) == 16, "wharf_verify_api.looked moved");
_Static_assert(offsetof(wharf_verify_api, fault) == 24, "wharf_verify_api.fault moved");
_Static_assert(offsetof(wharf_verify_api, fail) == 32, "wharf_verify_api.fail moved");
_Static_assert(offsetof(wharf_check, head) == 0, "wharf_check.head moved");
_Static_assert(offsetof(wharf_check, name) == 8, "wharf_check.name moved");
_Static_assert(offsetof(wharf_check, summary) == 16, "wharf_check.summary moved");
_Static_assert(offsetof(wharf_check, remedy) == 24, "wharf_check.remedy moved");
_Static_assert(offsetof(wharf_check, rows) == 32, "wharf_check.rows moved");
_Static_assert(offsetof(wharf_check, sql) == 40, "wharf_check.sql moved");
_Static_assert(offsetof(wharf_check, run) == 48, "wharf_check.run moved");
_Static_assert(offsetof(wharf_check, arg) == 56, "wharf_check.arg moved");
_Static_assert(offsetof(wharf_decl_api, head) == 0, "wharf_decl_api.head moved");
_Static_assert(offsetof(wharf_decl_api, resource) == 8, "wharf_decl_api.resource moved");
_Static_assert(offsetof(wharf_decl_api, route) == 16, "wharf_decl_api.route moved");
_Static_assert(offsetof(wharf_decl_api, hook) == 24, "wharf_decl_api.hook moved");
_Static_assert(offsetof(wharf_decl_api, provide) == 32, "wharf_decl_api.provide moved");
_Static_assert(offsetof(wharf_decl_api, job) == 40, "wharf_decl_api.job moved");
_Static_assert(offsetof(wharf_decl_api, on_event) == 48, "wharf_decl_api.on_event moved");
_Static_assert(offsetof(wharf_decl_api, embed) == 56, "wharf_decl_api.embed moved");
_Static_assert(offsetof(wharf_decl_api, errors) == 64, "wharf_decl_api.errors moved");
_Static_assert(offsetof(wharf_decl_api, migration) == 72, "wharf_decl_api.migration moved");
_Static_assert(offsetof(wharf_decl_api, fail) == 80, "wharf_decl_api.fail moved");
_Static_assert(offsetof(wharf_decl_api, check) == 88, "wharf_decl_api.check moved");
_Static_assert(offsetof(wharf_plugin_desc, head) == 0, "wharf_plugin_desc.head moved");
_Static_assert(offsetof(wharf_plugin_desc, manifest) == 8, "wharf_plugin_desc.manifest moved");
_Static_assert(offsetof(wharf_plugin_desc, declare) == 24, "wharf_plugin_desc.declare moved");
_Static_assert(offsetof(wharf_plugin_desc, start) == 32, "wharf_plugin_desc.start moved");
_Static_assert(
    offsetof(wharf_plugin_desc, thread_start) == 40, "wharf_plugin_desc.thread_start moved");
_Static_assert(
    offsetof(wharf_plugin_desc, thread_stop) == 48, "wharf_plugin_desc.thread_stop moved");
_Static_assert(offsetof(wharf_plugin_desc, drain) == 56, "wharf_plugin_desc.drain moved");
_Static_assert(offsetof(wharf_plugin_desc, stop) == 64, "wharf_plugin_desc.stop moved");
_Static_assert(offsetof(wharf_plugin_desc, examples) == 72, "wharf_plugin_desc.examples moved");
_Static_assert(WHARF_OK == 0, "WHARF_OK changed");
_Static_assert(WHARF_INVALID == -1, "WHARF_INVALID changed");
_Static_assert(WHARF_DENIED == -2, "WHARF_DENIED changed");
_Static_assert(WHARF_NOT_FOUND == -3, "WHARF_NOT_FOUND changed");
_Static_assert(WHARF_CONFLICT == -4, "WHARF_CONFLICT changed");
_Static_assert(WHARF_LIMIT == -5, "WHARF_LIMIT changed");
_Static_assert(WHARF_UPSTREAM == -6, "WHARF_UPSTREAM changed");
_Static_assert(WHARF_UNAVAILABLE == -7, "WHARF_UNAVAILABLE changed");
_Static_assert(WHARF_INTERNAL == -8, "WHARF_INTERNAL changed");
_Static_assert(WHARF_V_NULL == 1, "WHARF_V_NULL changed");
_Static_assert(WHARF_V_BOOL == 2, "WHARF_V_BOOL changed");
_Static_assert(WHARF_V_INT == 3, "WHARF_V_INT changed");
_Static_assert(WHARF_V_DEC == 4, "WHARF_V_DEC changed");
_Static_assert(WHARF_V_DOUBLE == 5, "WHARF_V_DOUBLE changed");
_Static_assert(WHARF_V_TEXT == 6, "WHARF_V_TEXT changed");
_Static_assert(WHARF_V_TIME_US == 7, "WHARF_V_TIME_US changed");
_Static_assert(WHARF_V_JSON == 8, "WHARF_V_JSON changed");
_Static_assert(WHARF_LOG_ERROR == 1, "WHARF_LOG_ERROR changed");
_Static_assert(WHARF_LOG_WARN == 2, "WHARF_LOG_WARN changed");
_Static_assert(WHARF_LOG_INFO == 3, "WHARF_LOG_INFO changed");
_Static_assert(WHARF_LOG_DEBUG == 4, "WHARF_LOG_DEBUG changed");
_Static_assert(WHARF_J_NULL == 1, "WHARF_J_NULL changed");
_Static_assert(WHARF_J_BOOL == 2, "WHARF_J_BOOL changed");
_Static_assert(WHARF_J_NUMBER == 3, "WHARF_J_NUMBER changed");
_Static_assert(WHARF_J_STRING == 4, "WHARF_J_STRING changed");
_Static_assert(WHARF_J_ARRAY == 5, "WHARF_J_ARRAY changed");
_Static_assert(WHARF_J_OBJECT == 6, "WHARF_J_OBJECT changed");
_Static_assert(WHARF_CREATE == 1, "WHARF_CREATE changed");
_Static_assert(WHARF_UPDATE == 2, "WHARF_UPDATE changed");
_Static_assert(WHARF_DELETE == 4, "WHARF_DELETE changed");
_Static_assert(WHARF_FOR_UPDATE == 1, "WHARF_FOR_UPDATE changed");
_Static_assert(WHARF_WITH_DELETED == 2, "WHARF_WITH_DELETED changed");
_Static_assert(WHARF_SHOWN == 4, "WHARF_SHOWN changed");
_Static_assert(WHARF_R_READONLY == 1, "WHARF_R_READONLY changed");
_Static_assert(WHARF_R_LONG == 2, "WHARF_R_LONG changed");
_Static_assert(WHARF_R_NO_TX == 4, "WHARF_R_NO_TX changed");
_Static_assert(WHARF_R_RAW_BODY == 8, "WHARF_R_RAW_BODY changed");
_Static_assert(WHARF_R_PUBLIC == 16, "WHARF_R_PUBLIC changed");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_head *)0)->size), uint32_t),
    "wharf_head.size has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_head *)0)->major), uint16_t),
    "wharf_head.major has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_head *)0)->minor), uint16_t),
    "wharf_head.minor has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_str *)0)->p), const char *),
    "wharf_str.p has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_str *)0)->n), size_t),
    "wharf_str.n has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_val *)0)->type), uint32_t),
    "wharf_val.type has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_val *)0)->scale), uint32_t),
    "wharf_val.scale has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->head), wharf_head),
    "wharf_mem_api.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->alloc),
                   void *(*)(wharf_req *req, size_t bytes)),
    "wharf_mem_api.alloc has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->dup),
                   wharf_str (*)(wharf_req *req, const char *p, size_t n)),
    "wharf_mem_api.dup has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->format),
                   wharf_str (*)(wharf_req *req, const char *fmt, ...)),
    "wharf_mem_api.format has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->on_release),
                   void (*)(wharf_req *req, void (*fn)(void *arg), void *arg)),
    "wharf_mem_api.on_release has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_mem_api *)0)->scope_begin), wharf_scope *(*)(wharf_req *req)),
    "wharf_mem_api.scope_begin has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->scope_end),
                   void (*)(wharf_req *req, wharf_scope *scope)),
    "wharf_mem_api.scope_end has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->plugin_alloc),
                   void *(*)(wharf_plugin *self, size_t bytes)),
    "wharf_mem_api.plugin_alloc has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_mem_api *)0)->slot),
                   void *(*)(wharf_req *req, const void *kind, size_t bytes)),
    "wharf_mem_api.slot has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_err_api *)0)->head), wharf_head),
    "wharf_err_api.head has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_err_api *)0)->fail),
        wharf_status (*)(wharf_req *req, const char *code, const char *path, const char *fmt, ...)),
    "wharf_err_api.fail has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_err_api *)0)->add),
        wharf_status (*)(wharf_req *req, const char *code, const char *path, const char *fmt, ...)),
    "wharf_err_api.add has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_err_api *)0)->current),
                   wharf_status (*)(const wharf_req *req)),
    "wharf_err_api.current has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_err_api *)0)->clear), void (*)(wharf_req *req)),
    "wharf_err_api.clear has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_err_api *)0)->base),
                   void (*)(wharf_req *req, const char *prefix)),
    "wharf_err_api.base has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_log_api *)0)->head), wharf_head),
    "wharf_log_api.head has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_log_api *)0)->level), uint32_t (*)(const wharf_plugin *self)),
    "wharf_log_api.level has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_log_api *)0)->write),
                   void (*)(wharf_plugin *self, wharf_req *req, uint32_t level, const char *event,
                       const char *fmt, ...)),
    "wharf_log_api.write has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->head), wharf_head),
    "wharf_req_api.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->organization),
                   wharf_str (*)(const wharf_req *req)),
    "wharf_req_api.organization has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_req_api *)0)->actor), wharf_str (*)(const wharf_req *req)),
    "wharf_req_api.actor has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->param),
                   bool (*)(const wharf_req *req, const char *name, wharf_str *ret_value)),
    "wharf_req_api.param has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->body),
                   wharf_status (*)(wharf_req *req, const wharf_json **ret_body)),
    "wharf_req_api.body has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->need_scope),
                   wharf_status (*)(wharf_req *req, const char *scope)),
    "wharf_req_api.need_scope has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->need_location),
                   wharf_status (*)(wharf_req *req, wharf_str location_id)),
    "wharf_req_api.need_location has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_req_api *)0)->now_us), int64_t (*)(const wharf_req *req)),
    "wharf_req_api.now_us has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->deadline_us),
                   int64_t (*)(const wharf_req *req)),
    "wharf_req_api.deadline_us has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_req_api *)0)->cancelled), bool (*)(const wharf_req *req)),
    "wharf_req_api.cancelled has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->new_id),
                   wharf_str (*)(wharf_req *req, const char *prefix)),
    "wharf_req_api.new_id has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->respond),
                   wharf_out *(*)(wharf_req *req, uint32_t http_status, const char *message)),
    "wharf_req_api.respond has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_req_api *)0)->thread_local_state), void *(*)(wharf_req *req)),
    "wharf_req_api.thread_local_state has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->created),
                   void (*)(wharf_req *req, wharf_str path)),
    "wharf_req_api.created has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_req_api *)0)->access_changed), void (*)(wharf_req *req)),
    "wharf_req_api.access_changed has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->one_time),
                   void (*)(wharf_req *req, const char *field)),
    "wharf_req_api.one_time has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->page),
                   wharf_status (*)(wharf_req *req, int64_t limit, int64_t most, int64_t *ret_page,
                       int64_t *ret_limit)),
    "wharf_req_api.page has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_req_api *)0)->paged),
                   void (*)(wharf_req *req, int64_t page, int64_t limit, bool has_more)),
    "wharf_req_api.paged has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->head), wharf_head),
    "wharf_json_api.head has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_json_api *)0)->type), uint32_t (*)(const wharf_json *v)),
    "wharf_json_api.type has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->get),
                   const wharf_json *(*)(const wharf_json *object, const char *key)),
    "wharf_json_api.get has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->at),
                   const wharf_json *(*)(const wharf_json *array, size_t i)),
    "wharf_json_api.at has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_json_api *)0)->count), size_t (*)(const wharf_json *v)),
    "wharf_json_api.count has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->text),
                   bool (*)(const wharf_json *v, wharf_str *ret_s)),
    "wharf_json_api.text has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->integer),
                   bool (*)(const wharf_json *v, int64_t *ret_i)),
    "wharf_json_api.integer has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->decimal),
                   bool (*)(const wharf_json *v, uint32_t scale, int64_t *ret_scaled)),
    "wharf_json_api.decimal has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->parse),
                   wharf_status (*)(wharf_req *req, wharf_str text, const wharf_json **ret_v)),
    "wharf_json_api.parse has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->put),
                   void (*)(wharf_out *out, const char *key, wharf_val value)),
    "wharf_json_api.put has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->open),
                   void (*)(wharf_out *out, const char *key, char bracket)),
    "wharf_json_api.open has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_json_api *)0)->close), void (*)(wharf_out *out)),
    "wharf_json_api.close has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->truth),
                   bool (*)(const wharf_json *v, bool *ret_truth)),
    "wharf_json_api.truth has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_json_api *)0)->key), wharf_str (*)(const wharf_json *member)),
    "wharf_json_api.key has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->next),
                   const wharf_json *(*)(const wharf_json *element)),
    "wharf_json_api.next has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_json_api *)0)->writer), wharf_out *(*)(wharf_req *req)),
    "wharf_json_api.writer has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->result_text),
                   wharf_str (*)(const wharf_out *out)),
    "wharf_json_api.result_text has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_json_api *)0)->builder), wharf_out *(*)(wharf_req *req)),
    "wharf_json_api.builder has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_json_api *)0)->result),
                   wharf_status (*)(wharf_req *req, wharf_out *builder, const wharf_json **ret_v)),
    "wharf_json_api.result has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->head), wharf_head),
    "wharf_db_api.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->query),
                   wharf_status (*)(wharf_req *req, const char *sql, const wharf_val *args,
                       size_t n_args, const wharf_rows **ret_rows)),
    "wharf_db_api.query has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->exec),
                   wharf_status (*)(wharf_req *req, const char *sql, const wharf_val *args,
                       size_t n_args, uint64_t *ret_n)),
    "wharf_db_api.exec has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_db_api *)0)->count), size_t (*)(const wharf_rows *rows)),
    "wharf_db_api.count has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->value),
                   bool (*)(const wharf_rows *rows, size_t row, size_t column, uint32_t want_type,
                       wharf_val *ret_v)),
    "wharf_db_api.value has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_db_api *)0)->begin), wharf_status (*)(wharf_req *req)),
    "wharf_db_api.begin has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_db_api *)0)->commit), wharf_status (*)(wharf_req *req)),
    "wharf_db_api.commit has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_db_api *)0)->rollback), void (*)(wharf_req *req)),
    "wharf_db_api.rollback has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->lock),
                   wharf_status (*)(wharf_req *req, const char *space, wharf_str key)),
    "wharf_db_api.lock has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->later),
                   void (*)(wharf_req *req, const char *sql, const wharf_val *args, size_t n_args)),
    "wharf_db_api.later has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->lock_many),
        wharf_status (*)(wharf_req *req, const char *space, const wharf_str *keys, size_t n)),
    "wharf_db_api.lock_many has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_db_api *)0)->limit), int64_t (*)(wharf_req *req, int64_t ms)),
    "wharf_db_api.limit has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_db_api *)0)->limit_end),
                   void (*)(wharf_req *req, int64_t before)),
    "wharf_db_api.limit_end has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_write *)0)->head), wharf_head),
    "wharf_write.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_write *)0)->resource), const char *),
    "wharf_write.resource has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_write *)0)->op), uint32_t),
    "wharf_write.op has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_write *)0)->reserved), uint32_t),
    "wharf_write.reserved has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_write *)0)->id), wharf_str),
    "wharf_write.id has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_write *)0)->body), const wharf_json *),
    "wharf_write.body has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_write *)0)->kind), const void *),
    "wharf_write.kind has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_write *)0)->context), void *),
    "wharf_write.context has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_write *)0)->ret_rec), const wharf_rec **),
    "wharf_write.ret_rec has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->head), wharf_head),
    "wharf_res_api.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->fetch),
                   wharf_status (*)(wharf_req *req, const char *resource, wharf_str id,
                       uint32_t flags, const wharf_rec **ret_rec)),
    "wharf_res_api.fetch has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->list),
                   wharf_status (*)(wharf_req *req, const char *resource, const wharf_json *query,
                       const wharf_rec *const **ret_recs, size_t *ret_n)),
    "wharf_res_api.list has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->create),
                   wharf_status (*)(wharf_req *req, const char *resource, const wharf_json *body,
                       const wharf_rec **ret_rec)),
    "wharf_res_api.create has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->update),
                   wharf_status (*)(wharf_req *req, const char *resource, wharf_str id,
                       const wharf_json *body, const wharf_rec **ret_rec)),
    "wharf_res_api.update has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->remove),
                   wharf_status (*)(wharf_req *req, const char *resource, wharf_str id)),
    "wharf_res_api.remove has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->get),
                   bool (*)(const wharf_rec *rec, wharf_field f, wharf_val *ret_v)),
    "wharf_res_api.get has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->set),
                   void (*)(wharf_rec *rec, wharf_field f, wharf_val v)),
    "wharf_res_api.set has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->changed),
                   bool (*)(const wharf_rec *old_rec, const wharf_rec *new_rec, wharf_field f)),
    "wharf_res_api.changed has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->narrow),
                   void (*)(wharf_where *where, wharf_field f, const char *op, wharf_val v)),
    "wharf_res_api.narrow has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->encode),
                   void (*)(wharf_req *req, wharf_out *out, const char *key, const wharf_rec *rec)),
    "wharf_res_api.encode has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->sent),
                   bool (*)(const wharf_rec *rec, wharf_field f)),
    "wharf_res_api.sent has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_res_api *)0)->id), wharf_str (*)(const wharf_rec *rec)),
    "wharf_res_api.id has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->input),
                   const wharf_json *(*)(const wharf_rec *rec, wharf_field f)),
    "wharf_res_api.input has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->member),
                   const wharf_json *(*)(const wharf_rec *rec, const char *name)),
    "wharf_res_api.member has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->drop),
                   void (*)(wharf_rec *rec, const char *name)),
    "wharf_res_api.drop has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->hit),
        void (*)(wharf_hits *hits, wharf_str id, double score, const wharf_json *members)),
    "wharf_res_api.hit has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->write),
                   wharf_status (*)(wharf_req *req, const wharf_write *w)),
    "wharf_res_api.write has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->context),
                   void *(*)(const wharf_rec *rec, const void *kind)),
    "wharf_res_api.context has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->scratch),
                   void *(*)(const wharf_rec *rec, const void *kind, size_t size)),
    "wharf_res_api.scratch has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->shared),
                   void *(*)(const wharf_rec *rec, const void *kind, size_t size)),
    "wharf_res_api.shared has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->changed_any),
                   bool (*)(const wharf_rec *old_rec, const wharf_rec *new_rec,
                       const char *const *names, size_t n)),
    "wharf_res_api.changed_any has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_res_api *)0)->row_kept), void (*)(const wharf_rec *new_rec)),
    "wharf_res_api.row_kept has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->hits_more),
        void (*)(wharf_hits *hits, const wharf_str *words, size_t n, const wharf_json *members)),
    "wharf_res_api.hits_more has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->links),
                   bool (*)(wharf_req *req, wharf_str resource, const char *link)),
    "wharf_res_api.links has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_res_api *)0)->encode_many),
        void (*)(wharf_req *req, wharf_out *out, const wharf_rec *const *recs, size_t n)),
    "wharf_res_api.encode_many has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_event_api *)0)->head), wharf_head),
    "wharf_event_api.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_event_api *)0)->emit),
                   wharf_status (*)(wharf_req *req, const char *type, const char *resource,
                       wharf_str id, const wharf_json *extra)),
    "wharf_event_api.emit has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_event_api *)0)->enqueue),
                   wharf_status (*)(wharf_req *req, const char *job, wharf_str key,
                       const wharf_json *args, int64_t run_at_us)),
    "wharf_event_api.enqueue has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_event_api *)0)->progress),
                   uint32_t (*)(wharf_req *req, uint32_t done, uint32_t total)),
    "wharf_event_api.progress has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_event_api *)0)->emit_many),
                   wharf_status (*)(wharf_req *req, const char *resource, const char *const *types,
                       const wharf_str *ids, const wharf_json *const *extras, size_t n)),
    "wharf_event_api.emit_many has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->head), wharf_head),
    "wharf_host.head has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((struct wharf_host *)0)->server_version), const char *),
    "wharf_host.server_version has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->service),
                   const void *(*)(const wharf_plugin *self, const char *name, uint16_t major,
                       uint16_t min_minor)),
    "wharf_host.service has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->mem), const wharf_mem_api *),
    "wharf_host.mem has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->err), const wharf_err_api *),
    "wharf_host.err has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->log), const wharf_log_api *),
    "wharf_host.log has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->req), const wharf_req_api *),
    "wharf_host.req has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((struct wharf_host *)0)->json), const wharf_json_api *),
    "wharf_host.json has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->db), const wharf_db_api *),
    "wharf_host.db has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((struct wharf_host *)0)->res), const wharf_res_api *),
    "wharf_host.res has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((struct wharf_host *)0)->event), const wharf_event_api *),
    "wharf_host.event has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->head), wharf_head),
    "wharf_hooks.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->normalize),
                   wharf_status (*)(wharf_req *req, uint32_t op, wharf_rec *new_rec)),
    "wharf_hooks.normalize has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->check),
                   wharf_status (*)(
                       wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)),
    "wharf_hooks.check has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->written),
                   wharf_status (*)(wharf_req *req, uint32_t op, const wharf_rec *old_rec,
                       const wharf_rec *new_rec)),
    "wharf_hooks.written has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->committed),
        void (*)(wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)),
    "wharf_hooks.committed has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->restrict_rows),
                   wharf_status (*)(wharf_req *req, wharf_where *where)),
    "wharf_hooks.restrict_rows has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->compute),
                   wharf_status (*)(wharf_req *req, const wharf_rec *const *recs, size_t n,
                       wharf_field f, wharf_out *const *outs)),
    "wharf_hooks.compute has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->batch_item),
                   wharf_status (*)(wharf_req *req, const char *action, const wharf_json *item)),
    "wharf_hooks.batch_item has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->search),
        wharf_status (*)(wharf_req *req, wharf_str text, bool all_words, wharf_hits *hits)),
    "wharf_hooks.search has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->check_many),
                   wharf_status (*)(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
                       wharf_rec *const *new_recs, size_t n)),
    "wharf_hooks.check_many has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->written_many),
                   wharf_status (*)(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
                       const wharf_rec *const *new_recs, size_t n)),
    "wharf_hooks.written_many has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->batch_items),
                   wharf_status (*)(wharf_req *req, const char *action,
                       const wharf_json *const *items, size_t n)),
    "wharf_hooks.batch_items has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->look_ahead),
        wharf_status (*)(wharf_req *req, uint32_t op, const wharf_rec *const *recs, size_t n)),
    "wharf_hooks.look_ahead has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->ops), uint32_t),
    "wharf_hooks.ops has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_hooks *)0)->reserved), uint32_t),
    "wharf_hooks.reserved has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_resource *)0)->head), wharf_head),
    "wharf_resource.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_resource *)0)->name), const char *),
    "wharf_resource.name has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_resource *)0)->definition), wharf_str),
    "wharf_resource.definition has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_resource *)0)->definition_hash), uint64_t),
    "wharf_resource.definition_hash has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_resource *)0)->hooks), const wharf_hooks *),
    "wharf_resource.hooks has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->head), wharf_head),
    "wharf_route.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->method), const char *),
    "wharf_route.method has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->path), const char *),
    "wharf_route.path has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->scope), const char *),
    "wharf_route.scope has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->definition), wharf_str),
    "wharf_route.definition has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_route *)0)->handler), wharf_handler *),
    "wharf_route.handler has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->arg), void *),
    "wharf_route.arg has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->flags), uint32_t),
    "wharf_route.flags has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_route *)0)->reserved), uint32_t),
    "wharf_route.reserved has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_verify_api *)0)->head), wharf_head),
    "wharf_verify_api.head has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_verify_api *)0)->each),
        wharf_status (*)(wharf_verify *v, const char *sql, const wharf_val *args, size_t n_args,
            wharf_status (*row)(wharf_verify *v, const wharf_val *values, size_t n, void *arg),
            void *arg)),
    "wharf_verify_api.each has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_verify_api *)0)->looked),
                   void (*)(wharf_verify *v, uint64_t n)),
    "wharf_verify_api.looked has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_verify_api *)0)->fault),
        void (*)(wharf_verify *v, wharf_str organization_id, wharf_str id, const char *fmt, ...)),
    "wharf_verify_api.fault has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_verify_api *)0)->fail),
                   wharf_status (*)(wharf_verify *v, const char *fmt, ...)),
    "wharf_verify_api.fail has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->head), wharf_head),
    "wharf_check.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->name), const char *),
    "wharf_check.name has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->summary), const char *),
    "wharf_check.summary has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->remedy), const char *),
    "wharf_check.remedy has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->rows), const char *),
    "wharf_check.rows has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->sql), const char *),
    "wharf_check.sql has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->run),
                   wharf_status (*)(wharf_verify *v, const wharf_verify_api *api, void *arg)),
    "wharf_check.run has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_check *)0)->arg), void *),
    "wharf_check.arg has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->head), wharf_head),
    "wharf_decl_api.head has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->resource),
                   void (*)(wharf_decl *d, const wharf_resource *r)),
    "wharf_decl_api.resource has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->route),
                   void (*)(wharf_decl *d, const wharf_route *r)),
    "wharf_decl_api.route has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->hook),
        void (*)(wharf_decl *d, const char *resource, const wharf_hooks *h, int32_t order)),
    "wharf_decl_api.hook has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->provide),
                   void (*)(wharf_decl *d, const char *service, uint16_t major, uint16_t minor,
                       const void *table)),
    "wharf_decl_api.provide has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->job),
        void (*)(wharf_decl *d, const char *name, wharf_handler *fn, void *arg, wharf_str policy)),
    "wharf_decl_api.job has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->on_event),
                   void (*)(wharf_decl *d, const char *pattern, wharf_handler *fn, void *arg)),
    "wharf_decl_api.on_event has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->embed),
                   void (*)(wharf_decl *d, const char *param, const char *key,
                       wharf_status (*fn)(wharf_req *req, const char *resource,
                           const wharf_str *ids, size_t n, wharf_out *const *outs))),
    "wharf_decl_api.embed has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->errors),
                   void (*)(wharf_decl *d, wharf_str errors_json)),
    "wharf_decl_api.errors has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->migration),
                   void (*)(wharf_decl *d, uint32_t number, const char *name, wharf_str sql)),
    "wharf_decl_api.migration has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->fail),
                   void (*)(wharf_decl *d, const char *fmt, ...)),
    "wharf_decl_api.fail has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_decl_api *)0)->check),
                   void (*)(wharf_decl *d, const wharf_check *c)),
    "wharf_decl_api.check has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_plugin_desc *)0)->head), wharf_head),
    "wharf_plugin_desc.head has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_plugin_desc *)0)->manifest), wharf_str),
    "wharf_plugin_desc.manifest has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_plugin_desc *)0)->declare),
                   void (*)(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)),
    "wharf_plugin_desc.declare has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_plugin_desc *)0)->start),
                   wharf_status (*)(wharf_plugin *self, wharf_req *req)),
    "wharf_plugin_desc.start has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_plugin_desc *)0)->thread_start),
                   wharf_status (*)(wharf_plugin *self, void **ret_state)),
    "wharf_plugin_desc.thread_start has another type");
_Static_assert(__builtin_types_compatible_p(__typeof__(((wharf_plugin_desc *)0)->thread_stop),
                   void (*)(wharf_plugin *self, void *state)),
    "wharf_plugin_desc.thread_stop has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_plugin_desc *)0)->drain), void (*)(wharf_plugin *self)),
    "wharf_plugin_desc.drain has another type");
_Static_assert(__builtin_types_compatible_p(
                   __typeof__(((wharf_plugin_desc *)0)->stop), void (*)(wharf_plugin *self)),
    "wharf_plugin_desc.stop has another type");
_Static_assert(
    __builtin_types_compatible_p(__typeof__(((wharf_plugin_desc *)0)->examples), wharf_str),
    "wharf_plugin_desc.examples has another type");
