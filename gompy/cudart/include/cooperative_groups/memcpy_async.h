/* Copies by all threads of a group, which are done at once (CUDA C++ Programming Guide, "Cooperative Groups").  */
#ifndef GOMPY_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define GOMPY_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"
#ifdef __CUDA__

namespace cooperative_groups
{

template <typename Group, typename T>
GOMPY_GROUP void
memcpy_async (const Group &group, T *to, const T *from, size_t bytes)
{
  const char *source = reinterpret_cast<const char *> (from);
  char *target = reinterpret_cast<char *> (to);
  for (size_t i = group.thread_rank (); i < bytes / sizeof (T); i += group.size ())
    to[i] = from[i];
  for (size_t i = bytes / sizeof (T) * sizeof (T) + group.thread_rank (); i < bytes; i += group.size ())
    target[i] = source[i];
}

/* A size that says what its memory is aligned to (cuda::aligned_size_t) is a number of bytes; counts of elements.  */
template <typename Group, typename T, typename Shape>
GOMPY_GROUP auto
memcpy_async (const Group &group, T *to, const T *from, const Shape &bytes) -> decltype (bytes.value, void ())
{
  memcpy_async (group, to, from, (size_t) bytes.value);
}

template <typename Group, typename T>
GOMPY_GROUP void
memcpy_async (const Group &group, T *to, size_t room, const T *from, size_t count)
{
  memcpy_async (group, to, from, (count < room ? count : room) * sizeof (T));
}

template <typename Group> GOMPY_GROUP void wait (const Group &group) { group.sync (); }
template <unsigned Stages, typename Group> GOMPY_GROUP void wait_prior (const Group &group) { group.sync (); }

}

#endif
#endif
