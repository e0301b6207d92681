/* Answers each command against the contract, in the way that the command's name says. */
#include "base.h"

#define COMMANDS(each)                                                                                              \
  each(nothing) each(two_replies) each(reply_and_commands) each(not_mine_and_reply) each(not_json) each(not_object) \
      each(not_utf8) each(null_bytes) each(unknown_kind) each(state) each(half_a_command) each(unknown_code)        \
          each(no_reason) each(plain_error) each(wrong_world) each(no_commands) each(infinite) each(too_large) \
              each(huge_number) each(deep) each(surrogate) each(twice) each(topic) each(error_in_ok) each(empty_error) \
                  each(error_number) each(deep_error)

#define ENDPOINT(name) "{\"name\": \"" #name "\", \"summary\": \"Bad.\"},"

static int32_t describe(const tw_sink *sink) {
  return put(sink, TW_OUT_MANIFEST,
             "{\"summary\": \"Breaks the contract.\", \"endpoints\": [" COMMANDS(ENDPOINT) "{\"name\": \"fine\", \"summary\": \"Is fine.\"}]}");
}

static int is(const tw_message *message, const char *name) {
  return message->cmd.len == strlen(name) && memcmp(message->cmd.ptr, name, message->cmd.len) == 0;
}

static int32_t commands(const tw_sink *sink, size_t size, double value) {
  tw_command command;
  tw_bytes bytes = {(const uint8_t *)&command, size};
  memset(&command, 0, sizeof command);
  command.op = TW_CONTROL;
  command.count = 6;
  command.v[0] = value;
  return sink->write(sink->ctx, TW_OUT_COMMANDS, bytes);
}

/* An object that begins like this and has a list in it that is 100,000 levels deep. */
static int32_t nested(const tw_sink *sink, uint32_t kind, const char *start) {
  enum { LEVELS = 100000 };
  size_t length = strlen(start);
  char *text = malloc(length + 2 * LEVELS + 2);
  if (text == NULL) {
    return TW_ERR;
  }
  memcpy(text, start, length);
  memset(text + length, '[', LEVELS);
  memset(text + length + LEVELS, ']', LEVELS);
  memcpy(text + length + 2 * LEVELS, "}", 2);
  int32_t code = put(sink, kind, text);
  free(text);
  return code;
}

static int32_t on_message(void *instance, const tw_world *world, const tw_message *message, const tw_sink *sink) {
  (void)instance;
  if (is(message, "nothing")) {
    return TW_OK;
  }
  if (is(message, "two_replies")) {
    put(sink, TW_OUT_OK, "{}");
    put(sink, TW_OUT_OK, "{}");
    return TW_OK;
  }
  if (is(message, "reply_and_commands")) {
    put(sink, TW_OUT_OK, "{}");
    return commands(sink, sizeof(tw_command), 0);
  }
  if (is(message, "not_mine_and_reply")) {
    put(sink, TW_OUT_OK, "{}");
    return TW_NOT_MINE;
  }
  if (is(message, "not_json")) {
    return put(sink, TW_OUT_OK, "{\"a\": }");
  }
  if (is(message, "not_object")) {
    return put(sink, TW_OUT_OK, "[1, 2]");
  }
  if (is(message, "not_utf8")) {
    return put(sink, TW_OUT_OK, "{\"a\": \"\xff\"}");
  }
  if (is(message, "null_bytes")) {
    tw_bytes bytes = {NULL, 5};
    sink->write(sink->ctx, TW_OUT_OK, bytes);
    return TW_OK;
  }
  if (is(message, "unknown_kind")) {
    put(sink, 99, "{}");
    return TW_OK;
  }
  if (is(message, "state")) {
    put(sink, TW_OUT_STATE, "{}");
    return TW_OK;
  }
  if (is(message, "half_a_command")) {
    commands(sink, sizeof(tw_command) / 2, 0);
    return TW_OK;
  }
  if (is(message, "unknown_code")) {
    return -77;
  }
  if (is(message, "no_reason")) {
    return TW_ERR_STATE;
  }
  if (is(message, "plain_error")) {
    return put(sink, TW_OUT_ERR, "plain \"text\"");
  }
  if (is(message, "no_commands")) {
    return commands(sink, 0, 0);
  }
  if (is(message, "infinite")) {
    return commands(sink, sizeof(tw_command), 1e308 * 10);
  }
  if (is(message, "huge_number")) {
    return put(sink, TW_OUT_OK, "{\"a\": 1e999}");
  }
  if (is(message, "deep")) {
    return nested(sink, TW_OUT_OK, "{\"a\": ");
  }
  if (is(message, "surrogate")) {
    return put(sink, TW_OUT_OK, "{\"a\": \"\\ud800\"}");
  }
  if (is(message, "twice")) {
    return put(sink, TW_OUT_OK, "{\"a\": 1, \"a\": 2}");
  }
  if (is(message, "topic")) {
    return put(sink, TW_OUT_OK, "{\"topic\": \"race\"}");
  }
  if (is(message, "error_in_ok")) {
    return put(sink, TW_OUT_OK, "{\"error\": \"no\"}");
  }
  if (is(message, "empty_error")) {
    return put(sink, TW_OUT_ERR, "");
  }
  if (is(message, "error_number")) {
    return put(sink, TW_OUT_ERR, "{\"error\": 5}");
  }
  if (is(message, "deep_error")) {
    return nested(sink, TW_OUT_ERR, "{\"error\": \"no\", \"a\": ");
  }
  if (is(message, "too_large")) {
    tw_bytes bytes = {(const uint8_t *)"", (size_t)1 << 40};
    sink->write(sink->ctx, TW_OUT_OK, bytes);
    return TW_OK;
  }
  if (is(message, "wrong_world")) {
    /* All of these are refused, none of them crashes. */
    tw_robots robots;
    tw_bodies bodies;
    tw_robot_info info;
    robots.struct_size = 0;
    bodies.struct_size = 4;
    info.struct_size = sizeof info - 1;
    tw_ray ray;
    tw_ray_hit hit;
    tw_bytes name = {(const uint8_t *)"\xff\xfe", 2};
    memset(&ray, 0, sizeof ray);
    int fine = world->robots(world->ctx, NULL) == TW_ERR_BAD_ARG && world->bodies(world->ctx, NULL) == TW_ERR_BAD_ARG &&
               world->robots(world->ctx, &robots) == TW_ERR_BAD_ARG &&
               world->bodies(world->ctx, &bodies) == TW_ERR_BAD_ARG &&
               world->robot_info(world->ctx, 0, &info) == TW_ERR_BAD_ARG &&
               world->robot_info(world->ctx, 4242, NULL) == TW_ERR_BAD_ARG &&
               world->pose(world->ctx, TW_NO_ENTITY, NULL) == TW_ERR_BAD_ARG &&
               world->pose(world->ctx, 0, NULL) == TW_ERR_BAD_ARG &&
               world->name(world->ctx, 0, NULL) == TW_ERR_BAD_ARG &&
               world->find(world->ctx, TW_ROBOT, name) == TW_NO_ENTITY &&
               world->find(world->ctx, 77, name) == TW_NO_ENTITY &&
               world->ray_cast(world->ctx, &ray, &hit) == TW_ERR_BAD_ARG &&
               world->ray_cast(world->ctx, NULL, &hit) == TW_ERR_BAD_ARG &&
               world->robots(NULL, NULL) == TW_ERR_BAD_ARG;
    return put(sink, TW_OUT_OK, fine ? "{\"refused\": true}" : "{\"refused\": false}");
  }
  return base_on_message(instance, world, message, sink);
}

EXPORT_TABLE(table.describe = describe; table.on_message = on_message; table.id.ptr = (const uint8_t *)"answers"; table.id.len = 7)
