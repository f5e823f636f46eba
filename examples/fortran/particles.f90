! A module's types, variables and procedures on the device.

module particles
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  private
  public :: particle, mass_unit, kick, total_mass

  type :: particle
    integer :: mass = 1
    integer(int64) :: position(3) = 0
  end type particle

  integer :: mass_unit = 2
  !$omp declare target (mass_unit)

contains

  pure subroutine kick (p, i)
    !$omp declare target
    type(particle), intent(inout) :: p
    integer, intent(in) :: i
    p%mass = mod (i, 7) + 1
    p%position = p%position + [integer(int64) :: i, 2 * i, 3 * i]
  end subroutine kick

  ! The mass of all particles, in units that the device's own copy of mass_unit holds.
  function total_mass (p, offload) result (mass)
    type(particle), intent(in) :: p(:)
    logical, intent(in) :: offload
    integer(int64) :: mass
    integer :: i
    mass = 0
    !$omp target teams distribute parallel do map(to: p) reduction(+: mass) if(target: offload)
    do i = 1, size (p)
      mass = mass + p(i)%mass * mass_unit
    end do
  end function total_mass

end module particles
