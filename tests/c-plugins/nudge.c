/* A whole plugin in C, from tickworks.h alone: nudges a robot forward by half of what it can do in a tick, counts, and
 * remembers the count. */
#include "tickworks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nudge {
  const tw_host *host;
  uint64_t count;
} nudge;

static tw_bytes text(const char *string) {
  tw_bytes bytes = {(const uint8_t *)string, strlen(string)};
  return bytes;
}

static int is(tw_bytes bytes, const char *string) {
  return bytes.len == strlen(string) && memcmp(bytes.ptr, string, bytes.len) == 0;
}

static int32_t put(const tw_sink *sink, uint32_t kind, const char *string) {
  return sink->write(sink->ctx, kind, text(string));
}

static int32_t describe(const tw_sink *sink) {
  return put(sink, TW_OUT_MANIFEST,
             "{\"summary\": \"Nudges robots forward.\","
             " \"endpoints\": ["
             "  {\"name\": \"nudge\", \"summary\": \"Moves a robot by half its limit.\","
             "   \"robot\": \"control\", \"default_robot\": \"own\","
             "   \"reply\": {\"type\": \"object\"}},"
             "  {\"name\": \"nudge_count\", \"summary\": \"How often.\", \"reads_only\": true}]}");
}

static int32_t create(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out) {
  nudge *self = calloc(1, sizeof *self);
  (void)config;
  if (self == NULL) {
    put(sink, TW_OUT_TEXT, "no memory for the instance");
    return TW_ERR;
  }
  self->host = host;
  host->log(host, TW_LOG_INFO, text("ready to nudge"));
  *out = self;
  return TW_OK;
}

static void destroy(void *instance) { free(instance); }

static int32_t reply_count(const nudge *self, const char *status, const tw_sink *sink) {
  char reply[96];
  snprintf(reply, sizeof reply, "{\"status\": \"%s\", \"count\": %" PRIu64 "}", status, self->count);
  return put(sink, TW_OUT_OK, reply);
}

static int32_t on_message(void *instance, const tw_world *world, const tw_message *message, const tw_sink *sink) {
  nudge *self = instance;
  tw_robot_info info;
  tw_command command;
  tw_bytes commands = {(const uint8_t *)&command, sizeof command};

  if (is(message->cmd, "nudge_count")) {
    return reply_count(self, "counted", sink);
  }
  if (!is(message->cmd, "nudge")) {
    return TW_NOT_MINE;
  }
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  if (world->robot_info(world->ctx, message->target, &info) != TW_OK) {
    return put(sink, TW_OUT_ERR, "nudge: there is no such robot");
  }
  memset(&command, 0, sizeof command);
  command.op = TW_CONTROL;
  command.count = info.control_len;
  command.entity = message->target;
  /* Where forward is depends on the robot: v of a DiffDrive, the first axis or the third. */
  size_t forward = info.type != TW_DIFF_DRIVE && info.axes == TW_AXES_LUF ? 2 : 0;
  command.v[forward] = info.limits[forward] / 2;
  self->count += 1;
  return sink->write(sink->ctx, TW_OUT_COMMANDS, commands);
}

static int32_t on_response(void *instance, const tw_world *world, const tw_message *message, const tw_outcome *outcomes,
                           uint32_t count, const tw_sink *sink) {
  (void)world;
  (void)message;
  return reply_count(instance, count == 1 && outcomes[0].status == TW_APPLIED ? "nudged" : "not_nudged", sink);
}

static int32_t save(void *instance, const tw_sink *sink) {
  const nudge *self = instance;
  char state[48];
  snprintf(state, sizeof state, "{\"count\": %" PRIu64 "}", self->count);
  return put(sink, TW_OUT_STATE, state);
}

static int32_t load(void *instance, tw_bytes state, const tw_sink *sink) {
  nudge *self = instance;
  char copy[48];
  uint64_t count;
  if (state.len >= sizeof copy) {
    put(sink, TW_OUT_TEXT, "the state is longer than any that was saved");
    return TW_ERR_BAD_ARG;
  }
  memcpy(copy, state.ptr, state.len);
  copy[state.len] = 0;
  if (sscanf(copy, "{\"count\": %" SCNu64 "}", &count) != 1) {
    put(sink, TW_OUT_TEXT, "the state has no count");
    return TW_ERR_BAD_ARG;
  }
  self->count = count;
  return TW_OK;
}

TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor) {
  static const tw_plugin table = {
      .struct_size = sizeof(tw_plugin),
      .abi_major = TW_ABI_MAJOR,
      .abi_minor = TW_ABI_MINOR,
      .id = {(const uint8_t *)"nudge", 5},
      .version = {(const uint8_t *)"1.0.0", 5},
      .describe = describe,
      .create = create,
      .destroy = destroy,
      .on_message = on_message,
      .on_response = on_response,
      .save = save,
      .load = load,
  };
  (void)host_minor;
  return host_major == TW_ABI_MAJOR ? &table : NULL;
}
