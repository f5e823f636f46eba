# OpenACC: which gang, worker and vector lane the calling thread is.
#
# The image's code (accel/hooks/openacc.cc) asks for the address of its thread's state, which has the positions in the
# three dimensions and then their sizes.  Gangs are shared out like teams (device_gangs.pxi); workers and vector lanes
# are loops in the image's code, which keeps their positions here.

cdef extern from *:
    """
    struct mic_lanes
    {
      int position[3], size[3]; /* of gangs, workers, vector lanes: what the image's code sees */
      int first, step;          /* the thread's next gang, and the one after it */
      int shared;               /* the thread has its share of the gangs, and runs them */
      uint64_t launch;          /* sizes that the host's launch has, as protocol.h packs them; 0: none */
    };
    static __thread struct mic_lanes mic_own_lanes = { { 0, 0, 0 }, { 1, 1, 1 }, 0, 1, 0, 0 };
    static struct mic_lanes *mic_lanes_of_thread (void) { return &mic_own_lanes; }
    """
    struct mic_lanes:
        int *position
        int *size
        int first
        int step
        int shared
        uint64_t launch
    mic_lanes *own_lanes "mic_lanes_of_thread"() nogil


cdef void set_sizes(mic_lanes *lanes, int gangs, int workers, int vectors) noexcept nogil:
    """At the first position of dimensions of these sizes."""
    cdef int i
    lanes.size[0] = gangs
    lanes.size[1] = workers
    lanes.size[2] = vectors
    for i in range(3):
        lanes.position[i] = 0
    lanes.first = 0
    lanes.step = 1


cdef void begin_lanes(uint64_t launch) noexcept nogil:
    """A region of OpenACC's begins, launched with those sizes."""
    cdef mic_lanes *lanes = own_lanes()
    set_sizes(lanes, 1, 1, 1)
    lanes.shared = 0
    lanes.launch = launch


cdef public int *lanes_address "gompy_acc_lanes"() noexcept nogil:
    """The calling thread's positions and sizes."""
    return own_lanes().position


cdef public int next_gang "gompy_acc_next_gang"() noexcept nogil:
    """Go on to the calling thread's next gang.  0: it has no more."""
    cdef mic_lanes *lanes = own_lanes()
    if lanes.first >= lanes.size[0]:
        return 0
    lanes.position[0] = lanes.first
    lanes.position[1] = lanes.position[2] = 0
    lanes.first += lanes.step
    begin_team()
    return 1
