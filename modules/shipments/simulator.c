/* simulator.c - shipments of test organizations that move by themselves
 * (docs/spec/03-shipments-and-trackers.md section 12): numbers of the internal form, whose first
 * group says how the way ends. One job per step. */
#include <stdlib.h>

#include "shipments.h"
#include "shipments.gen.h"

static const char *const way[] = {"package_accepted", "in_transit", "out_for_delivery"};
static const struct {
    const char *code;
    const char *ends[2];
} ends[] = {{"BBBBBBB", {"picked_up"}}, {"CCCCCCC", {"return_to_sender"}},
    {"DDDDDDD", {"package_undeliverable"}}, {"EEEEEEE", {"package_lost"}},
    {"FFFFFFF", {"package_damaged", "delivered"}}, {"GGGGGGG", {"attempted", "delivered"}},
    {"HHHHHHH", {"delayed"}}, {"IIIIIII", {"canceled"}}};

/* Returns the status of a step; NULL: the way is over. */
static const char *step_status(wharf_str code, size_t step)
{
    size_t n = sizeof(way) / sizeof(way[0]);

    if (step < n)
        return way[step];
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (is(code, ends[i].code))
            return step - n < 2 ? ends[i].ends[step - n] : NULL;
    }
    return step == n ? "delivered" : NULL;
}

static int64_t step_us(void)
{
    return shipments_config->integer(shipments_self, "simulator_step_seconds") * 1000000;
}

static wharf_status simulator_enqueue(wharf_req *req, wharf_str id, int64_t step)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "shipment", val_text(id));
    W->json->put(out, "step", val_int(step));
    W->json->close(out);
    s = W->json->result(req, out, &args);
    return s == WHARF_OK
               ? W->event->enqueue(req, "simulate", id, args, W->req->now_us(req) + step_us())
               : s;
}

wharf_status shipments_simulator_begin(wharf_req *req, const wharf_rec *rec)
{
    wharf_str code;

    if (!shipments_keys->caller(req)->test_mode ||
        !is(field_text(rec, SHIPMENT_STATUS), "created") ||
        !shipments_carriers->is_internal(field_text(rec, SHIPMENT_TRACKING_NUMBER), &code))
        return WHARF_OK;
    return simulator_enqueue(req, W->res->id(rec), 0);
}

static wharf_status write_step(wharf_req *req, wharf_str id, const char *status)
{
    const wharf_shipment_write w = {
        .head = WHARF_HEAD(wharf_shipment_write), .source = "system", .skip_completed = true};
    wharf_out *out = W->json->builder(req);
    const wharf_json *update;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "status", val_text(z(status)));
    W->json->close(out);
    s = W->json->result(req, out, &update);
    return s == WHARF_OK ? shipments_ops.update(req, id, update, &w) : s;
}

wharf_status shipments_simulate(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    const wharf_json *body;
    const char *status;
    wharf_str id, code;
    int64_t step = 0;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    id = json_text(body, "shipment");
    W->json->integer(W->json->get(body, "step"), &step);
    if (W->res->fetch(req, "shipment", id, 0, &rec) != WHARF_OK) {
        W->err->clear(req); /* deleted on its way */
        return WHARF_OK;
    }
    if (!shipments_carriers->is_internal(field_text(rec, SHIPMENT_TRACKING_NUMBER), &code) ||
        shipments_completed(field_text(rec, SHIPMENT_STATUS)))
        return WHARF_OK;
    status = step_status(code, (size_t)step);
    if (!status)
        return WHARF_OK;
    s = write_step(req, id, status);
    return s == WHARF_OK && step_status(code, (size_t)step + 1)
               ? simulator_enqueue(req, id, step + 1)
               : s;
}
