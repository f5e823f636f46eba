! { dg-require-effective-target offload_device_nvptx }
! { dg-do run }
program main
  !$omp target
  !$omp end target
end program
