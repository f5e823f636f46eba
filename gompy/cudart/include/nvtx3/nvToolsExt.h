/* NVTX, marks and ranges for profilers (NVIDIA Tools Extension Library, version 3).  No profiler of NVIDIA's is
   attached to a program on gompy, and each call does what it does then: nothing, and says so.  */
#ifndef GOMPY_NVTX_H
#define GOMPY_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_SUCCESS 0
#define NVTX_FAIL 1
#define NVTX_NO_PUSH_POP_TRACKING ((int) -2)
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t) sizeof (nvtxEventAttributes_t))

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringHandle *nvtxStringHandle_t;
typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN, NVTX_COLOR_ARGB } nvtxColorType_t;
typedef enum nvtxMessageType_t
{
  NVTX_MESSAGE_UNKNOWN,
  NVTX_MESSAGE_TYPE_ASCII,
  NVTX_MESSAGE_TYPE_UNICODE,
  NVTX_MESSAGE_TYPE_REGISTERED
} nvtxMessageType_t;
typedef union nvtxMessageValue_t
{
  const char *ascii;
  const wchar_t *unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef enum nvtxPayloadType_t
{
  NVTX_PAYLOAD_UNKNOWN,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
  NVTX_PAYLOAD_TYPE_INT64,
  NVTX_PAYLOAD_TYPE_DOUBLE,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT32,
  NVTX_PAYLOAD_TYPE_INT32,
  NVTX_PAYLOAD_TYPE_FLOAT
} nvtxPayloadType_t;

typedef struct nvtxEventAttributes_v2
{
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType, reserved0;
  union
  {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
    uint32_t uiValue;
    int32_t iValue;
    float fValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_v2;
typedef nvtxEventAttributes_v2 nvtxEventAttributes_t;

#define GOMPY_NVTX(type, name, takes, gives) static inline type name takes { return gives; }
#define GOMPY_NVTX_TEXT(type, name, before, gives) \
  GOMPY_NVTX (type, name##A, (before const char *text), ((void) text, gives)) \
  GOMPY_NVTX (type, name##W, (before const wchar_t *text), ((void) text, gives))
#define GOMPY_NONE

static inline void nvtxInitialize (const void *reserved) { (void) reserved; }
static inline void nvtxMarkA (const char *text) { (void) text; }
static inline void nvtxMarkW (const wchar_t *text) { (void) text; }
static inline void nvtxMarkEx (const nvtxEventAttributes_t *event) { (void) event; }
static inline void nvtxRangeEnd (nvtxRangeId_t range) { (void) range; }
GOMPY_NVTX_TEXT (int, nvtxRangePush, GOMPY_NONE, NVTX_NO_PUSH_POP_TRACKING)
GOMPY_NVTX (int, nvtxRangePushEx, (const nvtxEventAttributes_t *event), ((void) event, NVTX_NO_PUSH_POP_TRACKING))
GOMPY_NVTX (int, nvtxRangePop, (void), NVTX_NO_PUSH_POP_TRACKING)
GOMPY_NVTX_TEXT (nvtxRangeId_t, nvtxRangeStart, GOMPY_NONE, 0)
GOMPY_NVTX (nvtxRangeId_t, nvtxRangeStartEx, (const nvtxEventAttributes_t *event), ((void) event, 0))
GOMPY_NVTX_TEXT (nvtxDomainHandle_t, nvtxDomainCreate, GOMPY_NONE, (nvtxDomainHandle_t) 0)
static inline void nvtxDomainDestroy (nvtxDomainHandle_t domain) { (void) domain; }
static inline void
nvtxDomainMarkEx (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
  (void) domain, (void) event;
}
GOMPY_NVTX (int, nvtxDomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event),
            ((void) domain, (void) event, NVTX_NO_PUSH_POP_TRACKING))
GOMPY_NVTX (int, nvtxDomainRangePop, (nvtxDomainHandle_t domain), ((void) domain, NVTX_NO_PUSH_POP_TRACKING))
GOMPY_NVTX (nvtxRangeId_t, nvtxDomainRangeStartEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event),
            ((void) domain, (void) event, 0))
static inline void nvtxDomainRangeEnd (nvtxDomainHandle_t domain, nvtxRangeId_t id) { (void) domain, (void) id; }
GOMPY_NVTX (nvtxStringHandle_t, nvtxDomainRegisterStringA, (nvtxDomainHandle_t domain, const char *text),
            ((void) domain, (void) text, (nvtxStringHandle_t) 0))
static inline void
nvtxDomainNameCategoryA (nvtxDomainHandle_t domain, uint32_t category, const char *text)
{
  (void) domain, (void) category, (void) text;
}
static inline void nvtxNameCategoryA (uint32_t category, const char *text) { (void) category, (void) text; }
static inline void nvtxNameOsThreadA (uint32_t thread, const char *text) { (void) thread, (void) text; }
#undef GOMPY_NVTX
#undef GOMPY_NVTX_TEXT
#undef GOMPY_NONE

#ifdef UNICODE
#define nvtxMark nvtxMarkW
#define nvtxRangePush nvtxRangePushW
#define nvtxRangeStart nvtxRangeStartW
#define nvtxDomainCreate nvtxDomainCreateW
#else
#define nvtxMark nvtxMarkA
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxDomainCreate nvtxDomainCreateA
#endif
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxNameOsThread nvtxNameOsThreadA

#endif
