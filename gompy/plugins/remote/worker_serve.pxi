# A worker's threads: the one that reads frames, and those that run regions.
#
# One thread has the lead: it reads.  What is short is done at once, in the order of its coming.  A region is run by the
# thread that has read it; if it takes long, or there is more to read, the lead goes to another thread meanwhile.

cdef enum:
    RUNNERS = 128
    FINISHED = 256
    AWAITERS = 32
    READ_KEPT = 67108864

cdef struct Later:
    # A region that was started, or has to be run, and whose end nobody waits for at once.
    uint64_t id
    uint64_t ticket
    void *function
    void *variables
    uint64_t words[64]
    Later *next

cdef pthread_mutex_t count_lock, later_lock
cdef pthread_cond_t lead_news
cdef bint lead_taken
cdef uint32_t lead_lent  # the leader runs a region: the loan's number; 0: not lent, or taken
cdef uint32_t next_loan
cdef pthread_cond_t later_news
cdef int runners, idle_runners
cdef Later *first_later
cdef Later **last_later
cdef int awaiters, idle_awaiters
cdef uint64_t later_done, later_seen
cdef pthread_mutex_t finish_lock
cdef pthread_cond_t finish_news
cdef remote_frame finished[256]  # regions of nowait whose ends are to be told
cdef uint32_t num_finished, unfinished
cdef char *chunk
cdef char *read_room  # of READs
cdef uint64_t read_most  # its bytes
cdef char arrived[65536]
cdef size_t arrived_first, arrived_last


cdef void receive_bytes(void *to, uint64_t size) noexcept nogil:
    """The next bytes from the client; its end is ours."""
    cdef char *at = <char *>to
    cdef size_t have = arrived_last - arrived_first
    cdef ssize_t n
    global arrived_first, arrived_last
    while True:
        if have > size:
            have = size
        memcpy(at, arrived + arrived_first, have)
        arrived_first += have
        at += have
        size -= have
        if size == 0:
            return
        arrived_first = arrived_last = 0
        if size >= sizeof(arrived):
            n = recv(client, at, size, 0)
        else:
            n = recv(client, arrived, sizeof(arrived), 0)
        if n < 0 and errno == EINTR:
            have = 0
            continue
        if n <= 0:
            end_worker(0)
        if size >= sizeof(arrived):
            at += n
            size -= <uint64_t>n
            have = 0
            if size == 0:
                return
        else:
            arrived_last = <size_t>n
            have = <size_t>n


cdef void refuse_frame(const char *text) noexcept nogil:
    """What the client has sent is none, or asks for what cannot be: the end."""
    pass_on(1, text, strlen(text))


cdef void write_memory(uint64_t size) noexcept nogil:
    """A WRITE: bytes for device memory, where they go at once if this process has it in view."""
    cdef uint64_t address, n
    cdef char *place = NULL
    if size < sizeof(address) or size > REMOTE_BLOCK_MOST:
        refuse_frame(b"its worker was sent a damaged frame")
    receive_bytes(&address, sizeof(address))
    size -= sizeof(address)
    if driven.device_view != NULL:
        place = driven.device_view(device, <void *>address, size, True)
    if place != NULL:
        receive_bytes(place, size)
        return
    while size:
        n = min(size, <uint64_t>CHUNK)
        receive_bytes(chunk, n)
        if not driven.to_device(device, <void *>address, chunk, n):
            refuse_frame(b"a copy to the device has failed")
        address += n
        size -= n


cdef char *room_for_reading(uint64_t size) noexcept nogil:
    """Memory for a READ, which stays: fresh pages cost more than the copy.  NULL: there is none.  Of the leader only.
    """
    global read_room, read_most
    if size > read_most:
        free(read_room)
        read_room = <char *>malloc(size)
        read_most = size if read_room != NULL else 0
    return read_room


cdef void read_memory(uint64_t id, uint64_t address, uint64_t size) noexcept nogil:
    """A READ.  It goes out of the device's memory as it lies there, where this process has that in view."""
    global read_room, read_most
    cdef remote_frame frame
    cdef const char *data = NULL
    cdef char *room
    frame.kind = REMOTE_DATA
    frame.id = id
    frame.status = size > REMOTE_BLOCK_MOST
    if frame.status == 0 and driven.device_view != NULL:
        data = driven.device_view(device, <void *>address, size, False)
    if frame.status == 0 and data == NULL:
        room = room_for_reading(size)
        data = room
        frame.status = size != 0 and (room == NULL or not driven.to_host(device, room, <void *>address, size))
    send_answer(&frame, data, 0 if frame.status else size)
    if read_most > READ_KEPT:
        free(read_room)
        read_room = NULL
        read_most = 0


cdef void end_region(uint64_t id, const remote_launch *launch) noexcept nogil:
    """Tell of a region's end, with what was to come back."""
    cdef remote_frame frame
    cdef char few[8192]
    cdef char *room = few
    cdef uint64_t size = launch.bytes
    frame.kind = REMOTE_DATA
    frame.status = 0
    frame.id = id
    if size > sizeof(few):
        room = <char *>malloc(size)
    if size and (room == NULL or not driven.to_host(device, room, <void *>launch.start, size)):
        size = 0
    pass_printed(0)
    sub32(&busy, 1, RELAXED)
    send_answer(&frame, room, size)
    if room != few:
        free(room)


cdef void run_words(remote_frame *frame, remote_launch *launch, uint64_t *words, size_t count) noexcept nogil:
    """Run a region to its end."""
    cdef unsigned dims[3]
    cdef size_t i, half
    global acc_data
    if frame.kind == REMOTE_RUN:
        driven.run(device, <void *>launch.function, <void *>launch.variables, <void **>words)
    else:
        if acc_data == NULL:
            acc_data = driven.thread_data(device)
        for i in range(3):
            dims[i] = <unsigned>words[i]
        half = (count - 3) // 2
        driven.acc_exec(<void *>launch.function, half, <void **>(words + 3 + half), <void **>(words + 3), dims, NULL)
    end_region(frame.id, launch)


cdef void tell_finished() noexcept nogil:
    """Tell the ends of regions of nowait that there are."""
    global num_finished
    cdef remote_frame frames[256]
    cdef uint32_t count
    pthread_mutex_lock(&finish_lock)
    count = num_finished
    memcpy(frames, finished, count * sizeof(remote_frame))
    num_finished = 0
    pthread_mutex_unlock(&finish_lock)
    if count:
        pass_printed(0)
        sub32(&busy, count, RELAXED)
        send_frames(frames, count)


cdef void finish_later(uint64_t id) noexcept nogil:
    """A region of nowait has ended.  It is told with others: when none is left, or by tell_slowly."""
    global num_finished
    cdef uint32_t count
    cdef bint entered = False
    while not entered:
        pthread_mutex_lock(&finish_lock)
        if num_finished < FINISHED:
            memset(&finished[num_finished], 0, sizeof(remote_frame))
            finished[num_finished].kind = REMOTE_DATA
            finished[num_finished].id = id
            num_finished += 1
            entered = True
        count = num_finished
        if count == 1:
            pthread_cond_signal(&finish_news)
        pthread_mutex_unlock(&finish_lock)
        if not entered:
            tell_finished()
    if sub32(&unfinished, 1, SEQ_CST) == 0 or count >= FINISHED // 4:
        tell_finished()


cdef void *tell_slowly(void *arg) noexcept nogil:
    """The thread that tells ends while other regions go on."""
    while True:
        pthread_mutex_lock(&finish_lock)
        while num_finished == 0:
            pthread_cond_wait(&finish_news, &finish_lock)
        pthread_mutex_unlock(&finish_lock)
        usleep(300)
        tell_finished()
    return NULL


cdef void *await_regions(void *arg) noexcept nogil:
    """The threads that wait for the ends of regions of nowait."""
    global first_later, last_later, idle_awaiters, later_done
    cdef Later *job
    while True:
        pthread_mutex_lock(&later_lock)
        idle_awaiters += 1
        while first_later == NULL:
            pthread_cond_wait(&later_news, &later_lock)
        idle_awaiters -= 1
        job = first_later
        first_later = job.next
        if first_later == NULL:
            last_later = &first_later
        pthread_mutex_unlock(&later_lock)
        if job.ticket:
            driven.await_region(device, job.ticket)
        else:
            driven.run(device, job.function, job.variables, <void **>job.words)
        later_done += 1
        finish_later(job.id)
        free(job)
    return NULL


cdef void add_awaiter() noexcept nogil:
    """With later_lock held."""
    global awaiters
    cdef pthread_t thread
    if awaiters < AWAITERS and pthread_create(&thread, NULL, await_regions, NULL) == 0:
        pthread_detach(thread)
        awaiters += 1


cdef void start_later(uint64_t id, remote_launch *launch, uint64_t *words, size_t count) noexcept nogil:
    """A region of nowait."""
    global last_later
    cdef Later *job = <Later *>calloc(1, sizeof(Later))
    if job == NULL:
        refuse_frame(b"its worker is out of memory")
    add32(&unfinished, 1, RELAXED)
    job.id = id
    job.function = <void *>launch.function
    job.variables = <void *>launch.variables
    memcpy(job.words, words, count * sizeof(uint64_t))
    if driven.start_region != NULL and driven.await_region != NULL:
        job.ticket = driven.start_region(device, job.function, job.variables, <void **>job.words)
    pthread_mutex_lock(&later_lock)
    last_later[0] = job
    last_later = &job.next
    if awaiters == 0 or (job.ticket == 0 and idle_awaiters == 0):
        add_awaiter()
    if idle_awaiters:
        pthread_cond_signal(&later_news)
    pthread_mutex_unlock(&later_lock)


cdef uint64_t guard_step() noexcept nogil:
    """What GUARD may ask for; 0: nothing."""
    return driven.guard_step(device) if device_started and driven.guard_step != NULL and driven.guard != NULL else 0


cdef void start_device(remote_frame *frame) noexcept nogil:
    """START: the client's environment for the device, then the device."""
    global device, device_started
    cdef char *text = <char *>malloc(REMOTE_WORDS + 1)
    cdef char *at = text
    cdef char *value
    cdef int count
    if frame.size > REMOTE_WORDS or text == NULL or device_started:
        refuse_frame(b"its worker was sent a damaged frame")
    receive_bytes(text, frame.size)
    text[frame.size] = 0
    while at < text + frame.size:
        value = strchr(at, c'=')
        if value != NULL and (strncmp(at, b"OMP_", 4) == 0 or strncmp(at, b"GOMP_NVPTX_*", 11) == 0
                              or strncmp(at, b"GOMPY_CHECK=", 12) == 0):
            putenv(at)
        at += strlen(at) + 1
    count = driven.get_num_devices(0)
    device = <int>(frame.status % <uint32_t>count) if count > 0 else 0
    device_started = count > 0 and driven.init_device(device)
    send_word(frame.id, not device_started, guard_step())


cdef void answer_words(remote_frame *frame) noexcept nogil:
    """What has a few words and is done at once."""
    cdef uint64_t words[3]
    if frame.size > sizeof(words):
        refuse_frame(b"its worker was sent a damaged frame")
    memset(words, 0, sizeof(words))
    receive_bytes(words, frame.size)
    if frame.kind == REMOTE_ALLOC:
        words[0] = <uint64_t>driven.alloc(device, words[0]) if words[0] <= REMOTE_BLOCK_MOST else 0
        send_word(frame.id, words[0] == 0, words[0])
    elif frame.kind == REMOTE_FREE:
        driven.free(device, <void *>words[0])
    elif frame.kind == REMOTE_READ:
        read_memory(frame.id, words[0], words[1])
    elif frame.kind == REMOTE_COPY:
        if not driven.within(device, <void *>words[0], <void *>words[1], words[2]):
            refuse_frame(b"a copy within the device has failed")
    elif frame.kind == REMOTE_GUARD:
        if guard_step() == 0 or \
                driven.device_view != NULL and driven.device_view(device, <void *>words[0], words[1], False) == NULL:
            refuse_frame(b"its worker was sent a damaged frame")
        driven.guard(device, words[0], words[1])
    elif frame.kind == REMOTE_UNLOAD:
        send_word(frame.id, not unload_image(words[0]), 0)
    elif frame.kind == REMOTE_PROPERTY:
        send_word(frame.id, 0, driven.property(device, <int>words[0]) if words[0] < 0x10000 else 0)
    elif frame.kind == REMOTE_BYE:
        driven.fini_device(device)
        pass_printed(0)
        send_word(frame.id, 0, 0)
        take_leave(0)
    else:
        refuse_frame(b"its worker was sent what is no frame of the protocol")


cdef void answer_image(remote_frame *frame) noexcept nogil:
    """LOAD and IMAGE."""
    cdef remote_image image
    cdef uint64_t *indirect
    if frame.kind == REMOTE_IMAGE:
        if held.bytes == NULL or frame.size != held.size:
            refuse_frame(b"its worker was sent an image that it has not asked for")
        receive_bytes(held.bytes, frame.size)
        if not hash_fits(&held):
            refuse_frame(b"its worker was sent a damaged image")
        keep_image()
        return
    if frame.size < sizeof(image) or frame.size > REMOTE_IMAGE_MOST:
        refuse_frame(b"its worker was sent a damaged frame")
    receive_bytes(&image, sizeof(image))
    frame.size -= sizeof(image)
    indirect = <uint64_t *>malloc(frame.size + 8)
    if image.size > REMOTE_IMAGE_MOST or image.indirect * <uint64_t>8 != frame.size or indirect == NULL:
        refuse_frame(b"its worker was sent a damaged frame")
    receive_bytes(indirect, frame.size)
    load_image(frame.id, &image, indirect)
    free(indirect)


cdef void take_lead() noexcept nogil:
    """Wait until nobody else reads."""
    global idle_runners, lead_taken
    pthread_mutex_lock(&count_lock)
    idle_runners += 1
    while lead_taken:
        pthread_cond_wait(&lead_news, &count_lock)
    lead_taken = True
    idle_runners -= 1
    pthread_mutex_unlock(&count_lock)


cdef void pass_lead() noexcept nogil:
    """Let another thread read; one is made if all are running regions."""
    global runners, lead_taken
    cdef pthread_t thread
    pthread_mutex_lock(&count_lock)
    lead_taken = False
    if idle_runners:
        pthread_cond_signal(&lead_news)
    elif runners < RUNNERS and pthread_create(&thread, NULL, serve_frames, NULL) == 0:
        pthread_detach(thread)
        runners += 1
    pthread_mutex_unlock(&count_lock)


cdef uint32_t lend_lead() noexcept nogil:
    """We run a region: who watches may give the lead to another thread.  If there is more to read, one has it at once.

    The loan's number, 0: the lead is gone.
    """
    global next_loan
    if arrived_first < arrived_last:
        pass_lead()
        return 0
    next_loan = next_loan + 1 if next_loan + 1 else 1
    exchange32(&lead_lent, next_loan, SEQ_CST)
    return next_loan


cdef void reclaim_lead(uint32_t loan) noexcept nogil:
    """The region has ended: read on, or wait for the lead if somebody has it."""
    if loan == 0 or not cas32(&lead_lent, &loan, 0, False, SEQ_CST, RELAXED):
        take_lead()


cdef void *watch_threads(void *arg) noexcept nogil:
    """The lead of who runs a long region goes to another thread; so do regions of nowait that wait behind one."""
    global later_seen
    cdef uint32_t lent, seen = 0
    cdef uint64_t ticks = 0
    while True:
        usleep(1000 if load32(&lead_lent, RELAXED) else 5000)
        ticks += 1
        lent = load32(&lead_lent, RELAXED)
        if lent and lent == seen and cas32(&lead_lent, &lent, 0, False, SEQ_CST, RELAXED):
            pass_lead()
        seen = lent
        if first_later == NULL or ticks % 4:
            continue
        pthread_mutex_lock(&later_lock)
        if first_later != NULL and idle_awaiters == 0 and later_seen == later_done:
            add_awaiter()
        later_seen = later_done
        pthread_mutex_unlock(&later_lock)
    return NULL


cdef void serve_region(remote_frame *frame) noexcept nogil:
    """RUN, ACC_RUN, LATER; returns with the lead again, if it was lost."""
    cdef uint32_t loan
    cdef remote_launch launch
    cdef uint64_t few[64]
    cdef uint64_t *words = few
    cdef size_t count
    if frame.size < sizeof(launch) or frame.size > REMOTE_IMAGE_MOST or frame.size % 8 or not device_started:
        refuse_frame(b"its worker was sent a damaged frame")
    receive_bytes(&launch, sizeof(launch))
    count = (frame.size - sizeof(launch)) // 8
    if launch.bytes > REMOTE_SNAPSHOT or (count > REMOTE_ARGUMENTS if frame.kind != REMOTE_ACC_RUN else count < 3):
        refuse_frame(b"its worker was sent a damaged frame")
    if count > REMOTE_ARGUMENTS:
        words = <uint64_t *>malloc(count * sizeof(uint64_t))
        if words == NULL:
            refuse_frame(b"its worker is out of memory")
    receive_bytes(words, count * sizeof(uint64_t))
    if frame.kind != REMOTE_ACC_RUN and (count == 0 or words[count - 1] != 0):
        refuse_frame(b"its worker was sent a damaged frame")
    add32(&busy, 1, RELAXED)
    if frame.kind == REMOTE_LATER:
        start_later(frame.id, &launch, words, count)
        return
    loan = lend_lead()
    run_words(frame, &launch, words, count)
    if words != few:
        free(words)
    reclaim_lead(loan)


cdef void *serve_frames(void *arg) noexcept nogil:
    """Read, and do what is asked."""
    cdef remote_frame frame
    take_lead()
    while True:
        receive_bytes(&frame, sizeof(frame))
        if frame.kind == REMOTE_WRITE and device_started:
            write_memory(frame.size)
        elif frame.kind == REMOTE_RUN or frame.kind == REMOTE_LATER or frame.kind == REMOTE_ACC_RUN:
            serve_region(&frame)
        else:
            add32(&busy, 1, RELAXED)
            if frame.kind == REMOTE_START:
                start_device(&frame)
            elif not device_started and frame.kind != REMOTE_BYE:
                refuse_frame(b"its worker was sent what is no frame of the protocol")
            elif frame.kind == REMOTE_LOAD or frame.kind == REMOTE_IMAGE:
                answer_image(&frame)
            else:
                answer_words(&frame)
            sub32(&busy, 1, RELAXED)
    return NULL
