/* tickworks.h - the contract between the Tickworks host and its plugins, in C. C11 and C++17.
 *
 * A plugin is a shared object that exports one function, tw_plugin_entry, which returns a table of functions. The host
 * calls describe, then create (on a thread of its own, for each instance), and from then on the rest from its sim thread.
 *
 * Rules that hold everywhere
 *   Memory   Borrow in, copy out. What the host passes is the host's and valid until the call returns; copy what you keep.
 *            What you return goes through a tw_sink, which copies before it returns. Nobody frees the other side's memory.
 *            Two things live longer: the tw_host of create (until destroy returns), your tw_plugin (for ever: make it static).
 *   Text     UTF-8 in a tw_bytes: a pointer and a length, no NUL at the end.
 *   Results  0 or more is success, below 0 is one of the TW_ERR codes. Say why with TW_OUT_TEXT before you return one.
 *   Threads  Each function has a tag. [sim-thread]: the host's one thread for the world; calls on one instance never
 *            overlap. [start-thread]: a thread made for this one create. [any-thread]: yours or the host's, no instance yet.
 *            [thread-safe]: call it from any thread, also your own. Debug builds of the host check the tags.
 *   Failure  Nothing may be thrown across the border, neither a C++ exception (tickworks.hpp has a guard) nor a longjmp.
 *            After TW_ERR_PANIC only destroy is called on that instance. Do not call exit: it ends the host.
 *   Frozen   Within a major version no struct here changes. What is new comes by string id through get_extension.
 *   Numbers  Metres, radians, seconds, kilograms; the world's z is up. A pose is 7 numbers: x y z qx qy qz qw. A robot's
 *            body frame is x forward, y left, z up. Its control frame has the same axes in the order of tw_robot_info.axes.
 */
#ifndef TICKWORKS_H
#define TICKWORKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. Host and plugin must agree on the major one. */
#define TW_ABI_MAJOR 1
#define TW_ABI_MINOR 0

/* "No entity": a message from a connection without a robot, a name that nothing has. */
#define TW_NO_ENTITY UINT64_MAX

/* Before the definition of tw_plugin_entry: makes it visible outside the shared object. */
#if defined(_WIN32)
#define TW_EXPORT __declspec(dllexport)
#else
#define TW_EXPORT __attribute__((visibility("default")))
#endif

/* ---- Codes ---------------------------------------------------------------------------------------------------------- */

/* What a slot or a host function returns. */
enum {
  TW_OK = 0,                /* done */
  TW_NOT_MINE = 1,          /* on_message only: another owner of the command answers */
  TW_ERR = -1,              /* failed; TW_OUT_TEXT said why */
  TW_ERR_PANIC = -2,        /* panicked or threw: the instance has failed */
  TW_ERR_BAD_ARG = -3,      /* NULL, bad UTF-8, a wrong length, an unknown id */
  TW_ERR_UNSUPPORTED = -4,  /* not offered: an unknown operation, a saved state of a version that is not read */
  TW_ERR_STATE = -5,        /* not possible in the present state */
  TW_ERR_WRONG_THREAD = -6  /* the function's tag forbids this thread */
};

/* What a sink takes, and from which slots. JSON nests at most 64 levels deep and has finite numbers; no key is there twice
 * at the top of an object. A reply has no "topic", and an ok reply no "error". */
enum {
  TW_OUT_OK = 0,       /* on_message, on_response: the reply, a JSON object. At most one OK or ERR a call */
  TW_OUT_ERR = 1,      /* on_message, on_response: an error reply, a JSON object with a text "error", or that text alone */
  TW_OUT_COMMANDS = 2, /* on_message, on_tick, before_physics: a packed array of tw_command; any number of times */
  TW_OUT_TEXT = 3,     /* all: why the call failed, for people */
  TW_OUT_MANIFEST = 4, /* describe: a JSON object */
  TW_OUT_STATE = 5,    /* save: any bytes; once */
  TW_OUT_SHAPES = 6    /* draw: a packed array of tw_shape; any number of times */
};

/* Levels of tw_host.log. */
enum { TW_LOG_ERROR = 1, TW_LOG_WARN = 2, TW_LOG_INFO = 3, TW_LOG_DEBUG = 4, TW_LOG_TRACE = 5 };

/* tw_command.op: what to do, and what its numbers are. */
enum {
  /* Motion of a robot for one tick, along the axes of its control frame. UAVLevel1: twist of one tick (m, rad), count 6;
   * UAVLevel2: acceleration (m/s2, rad/s2), count 6; both linear x3, angular x3. DiffDrive: v, w (m/s, rad/s), count 2,
   * held until the next one. Not in before_physics: there it comes too late. */
  TW_CONTROL = 0,
  /* Sets a body's velocity: linear (m/s) of its centre of mass, angular (rad/s), world frame; count 6. */
  TW_VELOCITY = 1,
  /* Adds a force (N) at the centre of mass and a torque (N m), world frame, for this tick; count 6. */
  TW_FORCE = 2,
  /* Adds an impulse (N s) at the centre of mass and an angular impulse (N m s), world frame; count 6. */
  TW_IMPULSE = 3
};

/* tw_outcome.status: what became of a command. */
enum {
  TW_APPLIED = 0,    /* it took effect in this tick */
  TW_OVERRIDDEN = 1, /* a stronger plugin commanded the same robot in this tick: `by` */
  TW_REPLACED = 2,   /* a later command of this plugin for the same robot in this tick took its place */
  TW_REFUSED = 3     /* the host did not take it: `reason` */
};

/* Kinds of entities. An id has its kind in its upper 32 bits; robots count 0, 1, 2... in the order of the document. */
enum {
  TW_ROBOT = 0, /* a model that can be commanded */
  TW_BODY = 1,  /* a link, which is a rigid body: named model::link */
  TW_MODEL = 2  /* named model, or outer::inner where it is nested */
};

/* tw_robot_info.type. */
enum { TW_UAV_LEVEL1 = 1, TW_UAV_LEVEL2 = 2, TW_DIFF_DRIVE = 3 };

/* tw_robot_info.axes: the order of the control frame's axes. */
enum {
  TW_AXES_LUF = 0, /* left, up, forward; so the angles are pitch, yaw, roll */
  TW_AXES_FLU = 1  /* forward, left, up; so the angles are roll, pitch, yaw */
};

/* Bits of the flags of robots and outcomes. */
enum {
  TW_COLLIDING = 1, /* the robot touched something in its last tick */
  TW_CLAIMED = 2    /* a connection has claimed it */
};

/* What `may` is asked for. */
enum {
  TW_MAY_RESET = 1,      /* sim_reset */
  TW_MAY_LOAD_STATE = 2, /* sim_load_state */
  TW_MAY_RELOAD = 3,     /* sim_reload_world */
  TW_MAY_UNLOAD = 4      /* plugin_unload of this plugin */
};

/* tw_shape.kind. */
enum {
  TW_LINE = 0,      /* from pose[0..2] to size, m, world frame */
  TW_ARROW = 1,     /* as a line, with a head at its end */
  TW_BOX = 2,       /* edge lengths size, centred in pose */
  TW_SPHERE = 3,    /* radius size[0] */
  TW_CYLINDER = 4,  /* radius size[0], length size[1], along z of pose */
  TW_RECTANGLE = 5, /* in the y-z plane of pose, size[0] along y, size[1] along z: a gate, seen along x */
  TW_FRAME = 6,     /* the axes of pose, each size[0] long */
  TW_TEXT = 7       /* text at pose, size[0] high */
};

/* ---- Values --------------------------------------------------------------------------------------------------------- */

/* Borrowed bytes, valid until the call returns. ptr may be NULL when len is 0. */
typedef struct tw_bytes {
  const uint8_t *ptr;
  size_t len;
} tw_bytes;

/* Where a slot puts what it returns. */
typedef struct tw_sink {
  uint32_t struct_size; /* sizeof(tw_sink) of the host */
  uint32_t reserved;    /* 0 */
  void *ctx;            /* the host's */
  /* Takes bytes of a TW_OUT kind and copies them before it returns. TW_ERR_BAD_ARG: a kind that this slot does not
   * return, or a length that is not a whole number of structs.
   * [only on the thread, and during the call, that got the sink] */
  int32_t (*write)(void *ctx, uint32_t kind, tw_bytes bytes);
} tw_sink;

/* A command to the world: plain data, 80 bytes. Zero it before you fill it. */
typedef struct tw_command {
  uint32_t op;     /* TW_CONTROL and so on */
  uint32_t count;  /* how many numbers of v are meant */
  uint64_t entity; /* TW_CONTROL: a robot. Else: a body */
  double v[8];
} tw_command;

/* What became of a command of an on_message, in the order in which they were written. */
typedef struct tw_outcome {
  uint64_t entity;   /* the command's */
  uint32_t op;       /* the command's */
  uint32_t status;   /* TW_APPLIED and so on */
  uint32_t flags;    /* TW_COLLIDING */
  uint32_t reserved; /* 0 */
  tw_bytes by;       /* TW_OVERRIDDEN: the plugin that won. Else empty */
  tw_bytes reason;   /* not applied: why, one sentence. Else empty */
} tw_outcome;

/* One request of a client. */
typedef struct tw_message {
  uint32_t struct_size; /* sizeof(tw_message) of the host */
  uint32_t reserved;    /* 0 */
  uint64_t id;          /* unique within a run */
  uint64_t session;     /* the connection: unique within a run */
  uint64_t from;        /* the robot that the connection has claimed, or TW_NO_ENTITY */
  uint64_t target;      /* the robot that it is about: robot_id, else what the manifest's default_robot says, else
                           TW_NO_ENTITY. The host has checked that it exists, and that the sender may control it where
                           the manifest says robot: "control" */
  tw_bytes cmd;         /* the command */
  tw_bytes json;        /* the whole request, cmd included: a JSON object */
} tw_message;

/* All robots, ids ascending. The arrays are the host's and valid until the slot returns. */
typedef struct tw_robots {
  uint32_t struct_size;     /* set it to sizeof(tw_robots) */
  uint32_t count;
  const uint64_t *ids;      /* count */
  const double *poses;      /* count x 7: x y z qx qy qz qw of the body frame in the world */
  const double *velocities; /* count x 6: linear (m/s), angular (rad/s), along the body's own axes */
  const uint32_t *flags;    /* count: TW_COLLIDING, TW_CLAIMED */
} tw_robots;

/* All bodies (links that are not static), ids ascending. The arrays are the host's and valid until the slot returns. */
typedef struct tw_bodies {
  uint32_t struct_size;     /* set it to sizeof(tw_bodies) */
  uint32_t count;
  const uint64_t *ids;      /* count */
  const double *poses;      /* count x 7: x y z qx qy qz qw of the link's frame in the world */
  const double *velocities; /* count x 6: linear of the centre of mass (m/s), angular (rad/s), world frame */
} tw_bodies;

/* What a robot is: fixed for a run. */
typedef struct tw_robot_info {
  uint32_t struct_size; /* set it to sizeof(tw_robot_info) */
  uint32_t type;        /* TW_UAV_LEVEL1 and so on */
  uint32_t axes;        /* TW_AXES_LUF or TW_AXES_FLU */
  uint32_t control_len; /* how many numbers TW_CONTROL takes: 6, or 2 for TW_DIFF_DRIVE */
  uint64_t id;
  uint64_t model;       /* its model's id */
  tw_bytes name;        /* valid until the slot returns */
  double limits[6];     /* largest absolute control input: UAVLevel1 m and rad a tick, UAVLevel2 m/s2 and rad/s2,
                           DiffDrive m/s and rad/s. Compare in float: clients send them back rounded */
  double drag;          /* UAVLevel2: k in v' = v + dt (a - k v), 1/s. Else 0 */
} tw_robot_info;

/* A ray to cast. */
typedef struct tw_ray {
  double origin[3];     /* m, world frame */
  double direction[3];  /* world frame; need not be of unit length, must not be zero */
  double max_distance;  /* m */
  uint64_t ignore;      /* a robot, body or model that it passes through, or TW_NO_ENTITY */
} tw_ray;

/* What a ray hit. */
typedef struct tw_ray_hit {
  uint64_t body;    /* also links of static models have ids */
  uint64_t robot;   /* the robot that it belongs to, or TW_NO_ENTITY */
  double distance;  /* from the origin, m */
  double point[3];  /* m, world frame */
  double normal[3]; /* the surface's, unit, world frame */
} tw_ray_hit;

/* One thing to show over the world: plain data, 128 bytes. Zero it before you fill it. */
typedef struct tw_shape {
  uint32_t kind;     /* TW_LINE and so on */
  uint32_t rgba;     /* 0xRRGGBBAA */
  float width;       /* of lines, in pixels; 0: filled */
  uint32_t reserved; /* 0 */
  double pose[7];    /* x y z qx qy qz qw in the world */
  double size[3];    /* see TW_LINE and so on */
  uint8_t text[32];  /* UTF-8, padded with NUL */
} tw_shape;

/* ---- What the host offers ------------------------------------------------------------------------------------------- */

/* The read view of the world. Valid until the slot that got it returns; so is all that its functions give. */
typedef struct tw_world {
  uint32_t struct_size; /* sizeof(tw_world) of the host */
  uint32_t paused;      /* 1 while the simulation is paused */
  uint64_t tick;        /* ticks done since the start or the last reset; in after_physics and on_response the present
                           one counts */
  double time;          /* tick x dt, s */
  double dt;            /* length of a tick, s */
  void *ctx;            /* the host's: first argument of the functions below */

  /* Fills *out with all robots. Costs nothing the second time in a call. TW_ERR_BAD_ARG, here and below: out is NULL, or
   * its struct_size is smaller than the struct. [sim-thread] */
  int32_t (*robots)(void *ctx, tw_robots *out);

  /* Fills *out with all bodies. [sim-thread] */
  int32_t (*bodies)(void *ctx, tw_bodies *out);

  /* Fills *out with what robot id is. TW_ERR_BAD_ARG: there is none. [sim-thread] */
  int32_t (*robot_info)(void *ctx, uint64_t id, tw_robot_info *out);

  /* The id of the entity of a kind (TW_ROBOT, TW_BODY, TW_MODEL) with this scoped name, or TW_NO_ENTITY. [sim-thread] */
  uint64_t (*find)(void *ctx, uint32_t kind, tw_bytes name);

  /* Sets *out to the scoped name of an entity. TW_ERR_BAD_ARG: there is none. [sim-thread] */
  int32_t (*name)(void *ctx, uint64_t id, tw_bytes *out);

  /* Writes the pose of any entity, 7 numbers, to out. TW_ERR_BAD_ARG: there is none. [sim-thread] */
  int32_t (*pose)(void *ctx, uint64_t id, double *out);

  /* Casts a ray. 1: it hit something, *out says what. 0: it did not. TW_ERR_BAD_ARG: it is zero or not finite.
   * [sim-thread] */
  int32_t (*ray_cast)(void *ctx, const tw_ray *ray, tw_ray_hit *out);
} tw_world;

/* What the host offers to an instance. Yours to keep from create until destroy returns (or create fails). */
typedef struct tw_host tw_host;
struct tw_host {
  uint32_t struct_size; /* sizeof(tw_host) of the host */
  uint16_t abi_major;
  uint16_t abi_minor;
  void *ctx;            /* the host's */

  /* Writes a line to the host's log, under the instance's name. [thread-safe] */
  void (*log)(const tw_host *host, uint32_t level, tw_bytes text);

  /* Asks for a call of on_wake on the sim thread. Several before that are one. [thread-safe] */
  void (*wake)(const tw_host *host);

  /* Pushes a JSON object to the subscribers of a topic, after the replies of this tick. TW_ERR_BAD_ARG: it is no object,
   * or the manifest declares no such topic. TW_ERR_STATE: more is waiting than the host keeps. The log says which.
   * [thread-safe] */
  int32_t (*publish)(const tw_host *host, tw_bytes topic, tw_bytes json);

  /* A table of functions by id, such as "tw.camera/1", or NULL. Yours to keep until destroy returns. [thread-safe] */
  const void *(*get_extension)(const tw_host *host, tw_bytes id);
};

/* ---- What a plugin is ----------------------------------------------------------------------------------------------- */

/* The table. Make it static; the host reads it as long as it runs. Slots that are marked optional may be NULL. */
typedef struct tw_plugin {
  uint32_t struct_size; /* sizeof(tw_plugin) */
  uint16_t abi_major;   /* TW_ABI_MAJOR */
  uint16_t abi_minor;   /* TW_ABI_MINOR */
  tw_bytes id;          /* [a-z0-9._-]+, unique in a host */
  tw_bytes version;     /* the plugin's own, such as 1.2.0 */

  /* Writes the manifest, TW_OUT_MANIFEST, once:
   *   {"summary": "...",
   *    "parameters": [{"name", "summary", "schema"}],
   *    "endpoints": [{"name", "summary", "request": schema, "reply": schema, "reads_only": false,
   *                   "robot": "none" | "read" | "control", "default_robot": "own" | "first" | "none"}],
   *    "topics": [{"name", "summary"}]}
   * Only summaries and names are required; schemas are JSON Schema. Works without any instance. [any-thread] */
  int32_t (*describe)(const tw_sink *sink);

  /* Makes an instance and stores it in *out, which must not be NULL then. May be slow, may do I/O. config is
   *   {"instance", "parameters": {"name", "attributes": [["k","v"]], "text", "children": [...]},
   *    "model": null | {"id", "name"}, "world": {"name", "file"}, "rate_hz", "seed"}.
   * Where the file's path is not UTF-8, U+FFFD stands for what is not.
   * On failure: TW_OUT_TEXT, and *out is not looked at. [start-thread] */
  int32_t (*create)(const tw_host *host, tw_bytes config, const tw_sink *sink, void **out);

  /* Ends an instance, exactly once, also one that has failed. Join your threads here: after it returns the host's
   * functions must not be called. [sim-thread] */
  void (*destroy)(void *instance);

  /* Optional. Once, when all plugins have started and the world is loaded, before the first tick. An error fails the
   * instance. [sim-thread] */
  int32_t (*on_all_started)(void *instance, const tw_world *world, const tw_sink *sink);

  /* Optional. The world has been reset: poses, velocities and time are as at the start. An error is reported in the
   * reply to the reset; the other plugins are still reset. [sim-thread] */
  int32_t (*on_reset)(void *instance, const tw_world *world, const tw_sink *sink);

  /* Answers a message with TW_OUT_OK, or TW_OUT_ERR, or TW_OUT_COMMANDS: then on_response makes the reply, after
   * physics. Exactly one of the three kinds, and TW_OK; or nothing, and TW_NOT_MINE; or an error. [sim-thread] */
  int32_t (*on_message)(void *instance, const tw_world *world, const tw_message *message, const tw_sink *sink);

  /* Optional. After physics, for a message that was answered with commands: what came of each, in their order. Writes
   * TW_OUT_OK or TW_OUT_ERR. NULL: the host writes a plain reply. [sim-thread] */
  int32_t (*on_response)(void *instance, const tw_world *world, const tw_message *message, const tw_outcome *outcomes,
                         uint32_t count, const tw_sink *sink);

  /* Optional. Once a tick, after the messages. Writes TW_OUT_COMMANDS. [sim-thread] */
  int32_t (*on_tick)(void *instance, const tw_world *world, const tw_sink *sink);

  /* Optional. Right before physics. Writes TW_OUT_COMMANDS, all but TW_CONTROL. [sim-thread] */
  int32_t (*before_physics)(void *instance, const tw_world *world, const tw_sink *sink);

  /* Optional. Right after physics: the world at the end of this tick. [sim-thread] */
  int32_t (*after_physics)(void *instance, const tw_world *world, const tw_sink *sink);

  /* Optional. Writes TW_OUT_SHAPES. Called only while somebody looks. [sim-thread] */
  int32_t (*draw)(void *instance, const tw_world *world, const tw_sink *sink);

  /* Optional. Writes all durable state, TW_OUT_STATE. Changes nothing. [sim-thread] */
  int32_t (*save)(void *instance, const tw_sink *sink);

  /* Optional, but there if save is. Takes back what save wrote. On failure the state is as before. [sim-thread] */
  int32_t (*load)(void *instance, tw_bytes state, const tw_sink *sink);

  /* Optional. May this happen now (TW_MAY_RESET and so on)? Below 0 refuses, TW_OUT_TEXT says why. For an operation that
   * you do not know: TW_OK. Changes nothing. [sim-thread] */
  int32_t (*may)(void *instance, uint32_t operation, const tw_sink *sink);

  /* Optional. Answers tw_host.wake. [sim-thread] */
  int32_t (*on_wake)(void *instance, const tw_world *world, const tw_sink *sink);

  /* Optional. A table of functions by id, or NULL. [sim-thread] */
  const void *(*get_extension)(void *instance, tw_bytes id);
} tw_plugin;

/* The one symbol of a plugin: returns its table, or NULL when it cannot work with a host of this version. The host looks
 * at struct_size and abi_major of the table first, so returning it always is fine. [any-thread] */
TW_EXPORT const tw_plugin *tw_plugin_entry(uint16_t host_major, uint16_t host_minor);

#ifdef __cplusplus
}
#endif

#endif /* TICKWORKS_H */
