! Modules, derived types, allocatable arrays, do concurrent and reductions in target regions; results compared with the host's.

program main
  use, intrinsic :: iso_fortran_env, only: int64
  use omp_lib, only: omp_is_initial_device
  use particles
  implicit none
  integer, parameter :: n = 50000
  type(particle), allocatable :: cloud(:), wanted(:)
  integer, allocatable :: table(:, :)
  integer :: i, j, failures = 0
  integer(int64) :: path
  logical :: on_host

  !$omp target map(from: on_host)
  on_host = omp_is_initial_device ()
  !$omp end target
  if (on_host) then
    print '(a)', 'regions run on the host'
  else
    print '(a)', 'regions run on the device'
  end if

  allocate (cloud(n), wanted(n))
  !$omp target teams distribute parallel do map(tofrom: cloud)
  do i = 1, n
    call kick (cloud(i), i)
  end do
  do i = 1, n
    call kick (wanted(i), i)
  end do
  call compare ('derived types, module procedure', sum (cloud%position(3)), sum (wanted%position(3)))

  call compare ('module variable, reduction', total_mass (cloud, .true.), total_mass (wanted, .false.))

  path = 0
  !$omp target teams distribute parallel do map(to: cloud) reduction(max: path)
  do i = 1, n
    path = max (path, maxval (cloud(i)%position) - cloud(i)%mass)
  end do
  call compare ('max reduction', path, maxval (wanted%position(3) - wanted%mass))

  allocate (table(200, 300), source=0)
  !$omp target map(tofrom: table)
  do concurrent (i = 1:200, j = 1:300)
    table(i, j) = i * j
  end do
  !$omp end target
  call compare ('allocatable matrix, do concurrent', int (sum (table), int64), 20100_int64 * 45150_int64)

  if (failures > 0) error stop 1

contains

  subroutine compare (what, device, host)
    character(*), intent(in) :: what
    integer(int64), intent(in) :: device, host
    character(9) :: verdict
    verdict = 'equal'
    if (device /= host) then
      verdict = 'DIFFERENT'
      failures = failures + 1
    end if
    print '(a34, 2(a, i12), 2x, a)', [character(34) :: what], '  device ', device, '  host ', host, verdict
  end subroutine compare

end program main
