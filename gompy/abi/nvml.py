"""NVML, the interface of monitors of GPUs: its numbers, and its entry points, one row for each.

A row of ``HERE``: name and its parameters as ``name:kind`` (``KINDS``), which the exported functions check.
``LACKING`` are those that ask for what an emulated GPU has not (a temperature, a fan, error-correcting memory,
partitions) or for what is not implemented: they are exported and answer NVML_ERROR_NOT_SUPPORTED, as a GPU without such
a part does.

Made of it: the library's exports (gompy/native/nvml_calls.h), GOMPY_CUDA_TRACE's words, and docs/nvml-coverage.md.
Source: NVML API reference; tests/nvml compares names, numbers and structures with NVIDIA's nvidia-ml-py.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, NamedTuple

    class Call(NamedTuple):
        """An entry point."""

        area: str
        name: str
        parameters: tuple[tuple[str, str], ...]
        here: bool

else:
    from collections import namedtuple

    Call = namedtuple("Call", "area name parameters here")

RESULTS = {
    "NVML_SUCCESS": (0, "Success"),
    "NVML_ERROR_UNINITIALIZED": (1, "Uninitialized"),
    "NVML_ERROR_INVALID_ARGUMENT": (2, "Invalid Argument"),
    "NVML_ERROR_NOT_SUPPORTED": (3, "Not Supported"),
    "NVML_ERROR_NO_PERMISSION": (4, "Insufficient Permissions"),
    "NVML_ERROR_ALREADY_INITIALIZED": (5, "Already Initialized"),
    "NVML_ERROR_NOT_FOUND": (6, "Not Found"),
    "NVML_ERROR_INSUFFICIENT_SIZE": (7, "Insufficient Size"),
    "NVML_ERROR_INSUFFICIENT_POWER": (8, "Insufficient External Power"),
    "NVML_ERROR_DRIVER_NOT_LOADED": (9, "Driver Not Loaded"),
    "NVML_ERROR_TIMEOUT": (10, "Timeout"),
    "NVML_ERROR_IRQ_ISSUE": (11, "Interrupt Request Issue"),
    "NVML_ERROR_LIBRARY_NOT_FOUND": (12, "NVML Shared Library Not Found"),
    "NVML_ERROR_FUNCTION_NOT_FOUND": (13, "Function Not Found"),
    "NVML_ERROR_CORRUPTED_INFOROM": (14, "Corrupted infoROM"),
    "NVML_ERROR_GPU_IS_LOST": (15, "GPU is lost"),
    "NVML_ERROR_RESET_REQUIRED": (16, "GPU requires restart"),
    "NVML_ERROR_OPERATING_SYSTEM": (17, "The operating system has blocked the request"),
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": (18, "Driver/library version mismatch"),
    "NVML_ERROR_IN_USE": (19, "In use by another client"),
    "NVML_ERROR_MEMORY": (20, "Insufficient Memory"),
    "NVML_ERROR_NO_DATA": (21, "No data"),
    "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED": (22, "ECC is enabled, which virtual GPUs do not support"),
    "NVML_ERROR_INSUFFICIENT_RESOURCES": (23, "Insufficient resources"),
    "NVML_ERROR_FREQ_NOT_SUPPORTED": (24, "Frequency not supported"),
    "NVML_ERROR_ARGUMENT_VERSION_MISMATCH": (25, "Argument version mismatch"),
    "NVML_ERROR_DEPRECATED": (26, "Deprecated"),
    "NVML_ERROR_NOT_READY": (27, "Not ready"),
    "NVML_ERROR_GPU_NOT_FOUND": (28, "No GPUs were found"),
    "NVML_ERROR_INVALID_STATE": (29, "Invalid state"),
    "NVML_ERROR_UNKNOWN": (999, "Unknown Error"),
}
"""nvmlReturn_t: name, number, what nvmlErrorString says."""

NVML_CLOCK_GRAPHICS: Final = 0
NVML_CLOCK_SM: Final = 1
NVML_CLOCK_MEM: Final = 2
NVML_CLOCK_VIDEO: Final = 3
NVML_BRAND_UNKNOWN: Final = 0
NVML_COMPUTEMODE_DEFAULT: Final = 0
NVML_FEATURE_DISABLED: Final = 0
NVML_PROCESS_MODE_COMPUTE: Final = 0
NVML_PROCESS_MODE_MPS: Final = 2
NVML_DEVICE_ARCH_UNKNOWN: Final = 0xFFFFFFFF
NVML_NO_INSTANCE: Final = 0xFFFFFFFF
"""gpuInstanceId of a process on a GPU that is not partitioned."""

NVML_INIT_FLAG_NO_GPUS: Final = 1
"""nvmlInitWithFlags: having no GPU is no error."""

NVML_MEMORY_V2: Final = 0x02000028
NVML_PROCESS_DETAIL_LIST_V1: Final = 0x01000018

ARCHITECTURES = {30: 2, 50: 3, 60: 4, 70: 5, 75: 6, 80: 7, 89: 8, 90: 9, 100: 10}
"""NVML_DEVICE_ARCH_*: from which sm_ on (Kepler, Maxwell, Pascal, Volta, Turing, Ampere, Ada, Hopper, Blackwell)."""

KINDS = {
    "d": "device, which must be one",
    "i": "int",
    "u": "unsigned",
    "s": "64-bit number",
    "p": "pointer, which may be NULL",
    "a": "pointer",
    "b": "buffer of a text that is answered",
    "t": "text",
    "n": "pointer to an int that is answered",
    "o": "pointer to a word that is answered",
}

HERE = {
    "start, errors, versions": """
        nvmlInit
        nvmlInit_v2
        nvmlInitWithFlags flags:u
        nvmlShutdown
        nvmlErrorString result:i
        nvmlSystemGetDriverVersion version:b length:u
        nvmlSystemGetNVMLVersion version:b length:u
        nvmlSystemGetCudaDriverVersion cudaDriverVersion:n
        nvmlSystemGetCudaDriverVersion_v2 cudaDriverVersion:n
        nvmlSystemGetProcessName pid:u name:b length:u
    """,
    "finding devices": """
        nvmlDeviceGetCount deviceCount:n
        nvmlDeviceGetCount_v2 deviceCount:n
        nvmlDeviceGetHandleByIndex index:u device:o
        nvmlDeviceGetHandleByIndex_v2 index:u device:o
        nvmlDeviceGetHandleByUUID uuid:t device:o
        nvmlDeviceGetHandleByPciBusId pciBusId:t device:o
        nvmlDeviceGetHandleByPciBusId_v2 pciBusId:t device:o
        nvmlDeviceGetIndex device:d index:n
        nvmlGetExcludedDeviceCount deviceCount:n
        nvmlUnitGetCount unitCount:n
    """,
    "what a device is": """
        nvmlDeviceGetName device:d name:b length:u
        nvmlDeviceGetUUID device:d uuid:b length:u
        nvmlDeviceGetBrand device:d type:n
        nvmlDeviceGetArchitecture device:d arch:n
        nvmlDeviceGetCudaComputeCapability device:d major:n minor:n
        nvmlDeviceGetPciInfo device:d pci:a
        nvmlDeviceGetPciInfo_v2 device:d pci:a
        nvmlDeviceGetPciInfo_v3 device:d pci:a
        nvmlDeviceGetMemoryBusWidth device:d busWidth:n
        nvmlDeviceGetMaxClockInfo device:d type:u clock:n
        nvmlDeviceGetMultiGpuBoard device:d multiGpuBool:n
        nvmlDeviceOnSameBoard device1:d device2:d onSameBoard:n
        nvmlDeviceIsMigDeviceHandle device:d isMigDevice:n
        nvmlDeviceGetComputeMode device:d mode:n
        nvmlDeviceGetDisplayMode device:d display:n
        nvmlDeviceGetDisplayActive device:d isActive:n
    """,
    "what it does": """
        nvmlDeviceGetMemoryInfo device:d memory:a
        nvmlDeviceGetMemoryInfo_v2 device:d memory:a
        nvmlDeviceGetUtilizationRates device:d utilization:a
        nvmlDeviceGetComputeRunningProcesses device:d infoCount:n infos:p
        nvmlDeviceGetComputeRunningProcesses_v2 device:d infoCount:n infos:p
        nvmlDeviceGetComputeRunningProcesses_v3 device:d infoCount:n infos:p
        nvmlDeviceGetGraphicsRunningProcesses device:d infoCount:n infos:p
        nvmlDeviceGetGraphicsRunningProcesses_v2 device:d infoCount:n infos:p
        nvmlDeviceGetGraphicsRunningProcesses_v3 device:d infoCount:n infos:p
        nvmlDeviceGetMPSComputeRunningProcesses device:d infoCount:n infos:p
        nvmlDeviceGetMPSComputeRunningProcesses_v2 device:d infoCount:n infos:p
        nvmlDeviceGetMPSComputeRunningProcesses_v3 device:d infoCount:n infos:p
        nvmlDeviceGetRunningProcessDetailList device:d plist:a
        nvmlDeviceGetProcessUtilization device:d utilization:p processSamplesCount:n lastSeenTimeStamp:s
        nvmlDeviceGetFieldValues device:d valuesCount:i values:a
    """,
}

LACKING = {
    "Gpm, events, units": """
        nvmlEventSetCreate nvmlEventSetFree nvmlEventSetGetContextCount_v1 nvmlEventSetGetContextData_v1
        nvmlEventSetGetContextInfo_v1 nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1
        nvmlEventSetRegisterGpuOperationalEvents_v1 nvmlEventSetWait nvmlEventSetWait_v2 nvmlEventSetWait_v3
        nvmlGetExcludedDeviceInfoByIndex nvmlGpmMetricsGet nvmlGpmMigSampleGet nvmlGpmQueryDeviceSupport
        nvmlGpmQueryIfStreamingEnabled nvmlGpmSampleAlloc nvmlGpmSampleFree nvmlGpmSampleGet
        nvmlGpmSetStreamingEnabled nvmlSystemEventSetCreate nvmlSystemEventSetFree nvmlSystemEventSetWait
        nvmlSystemGetCPER_v1 nvmlSystemGetConfComputeCapabilities nvmlSystemGetConfComputeGpusReadyState
        nvmlSystemGetConfComputeKeyRotationThresholdInfo nvmlSystemGetConfComputeSettings
        nvmlSystemGetConfComputeState nvmlSystemGetDriverBranch nvmlSystemGetHicVersion nvmlSystemGetNvlinkBwMode
        nvmlSystemGetTopologyGpuSet nvmlSystemRegisterEvents nvmlSystemSetConfComputeGpusReadyState
        nvmlSystemSetConfComputeKeyRotationThresholdInfo nvmlSystemSetNvlinkBwMode nvmlUnitGetDevices
        nvmlUnitGetFanSpeedInfo nvmlUnitGetHandleByIndex nvmlUnitGetLedState nvmlUnitGetPsuInfo
        nvmlUnitGetTemperature nvmlUnitGetUnitInfo nvmlUnitSetLedState
    """,
    "virtual GPUs": """
        nvmlDeviceGetActiveVgpus nvmlDeviceGetCreatableVgpus nvmlDeviceGetHostVgpuMode nvmlDeviceGetSupportedVgpus
        nvmlDeviceGetVgpuCapabilities nvmlDeviceGetVgpuHeterogeneousMode nvmlDeviceGetVgpuInstancesUtilizationInfo
        nvmlDeviceGetVgpuMetadata nvmlDeviceGetVgpuProcessUtilization nvmlDeviceGetVgpuProcessesUtilizationInfo
        nvmlDeviceGetVgpuSchedulerCapabilities nvmlDeviceGetVgpuSchedulerLog nvmlDeviceGetVgpuSchedulerLog_v2
        nvmlDeviceGetVgpuSchedulerState nvmlDeviceGetVgpuSchedulerState_v2 nvmlDeviceGetVgpuTypeCreatablePlacements
        nvmlDeviceGetVgpuTypeSupportedPlacements nvmlDeviceGetVgpuUtilization nvmlDeviceSetVgpuCapabilities
        nvmlDeviceSetVgpuHeterogeneousMode nvmlDeviceSetVgpuSchedulerState nvmlDeviceSetVgpuSchedulerState_v2
        nvmlDeviceVgpuForceGspUnload nvmlGetVgpuCompatibility nvmlGetVgpuDriverCapabilities nvmlGetVgpuVersion
        nvmlGpuInstanceGetActiveVgpus nvmlGpuInstanceGetCreatableVgpus nvmlGpuInstanceGetVgpuHeterogeneousMode
        nvmlGpuInstanceGetVgpuSchedulerLog nvmlGpuInstanceGetVgpuSchedulerLog_v2
        nvmlGpuInstanceGetVgpuSchedulerState nvmlGpuInstanceGetVgpuSchedulerState_v2
        nvmlGpuInstanceGetVgpuTypeCreatablePlacements nvmlGpuInstanceSetVgpuHeterogeneousMode
        nvmlGpuInstanceSetVgpuSchedulerState nvmlGpuInstanceSetVgpuSchedulerState_v2 nvmlSetVgpuVersion
        nvmlVgpuInstanceClearAccountingPids nvmlVgpuInstanceGetAccountingMode nvmlVgpuInstanceGetAccountingPids
        nvmlVgpuInstanceGetAccountingStats nvmlVgpuInstanceGetEccMode nvmlVgpuInstanceGetEncoderCapacity
        nvmlVgpuInstanceGetEncoderSessions nvmlVgpuInstanceGetEncoderStats nvmlVgpuInstanceGetFBCSessions
        nvmlVgpuInstanceGetFBCStats nvmlVgpuInstanceGetFbUsage nvmlVgpuInstanceGetFrameRateLimit
        nvmlVgpuInstanceGetGpuInstanceId nvmlVgpuInstanceGetGpuPciId nvmlVgpuInstanceGetLicenseInfo_v2
        nvmlVgpuInstanceGetLicenseStatus nvmlVgpuInstanceGetMdevUUID nvmlVgpuInstanceGetMetadata
        nvmlVgpuInstanceGetPlacementId nvmlVgpuInstanceGetRuntimeStateSize nvmlVgpuInstanceGetType
        nvmlVgpuInstanceGetUUID nvmlVgpuInstanceGetVmDriverVersion nvmlVgpuInstanceGetVmID
        nvmlVgpuInstanceSetEncoderCapacity nvmlVgpuTypeGetBAR1Info nvmlVgpuTypeGetCapabilities nvmlVgpuTypeGetClass
        nvmlVgpuTypeGetDeviceID nvmlVgpuTypeGetFbReservation nvmlVgpuTypeGetFrameRateLimit
        nvmlVgpuTypeGetFramebufferSize nvmlVgpuTypeGetGpuInstanceProfileId nvmlVgpuTypeGetGspHeapSize
        nvmlVgpuTypeGetLicense nvmlVgpuTypeGetMaxInstances nvmlVgpuTypeGetMaxInstancesPerGpuInstance
        nvmlVgpuTypeGetMaxInstancesPerVm nvmlVgpuTypeGetName nvmlVgpuTypeGetNumDisplayHeads
        nvmlVgpuTypeGetResolution
    """,
    "GPU instances (MIG)": """
        nvmlComputeInstanceDestroy nvmlComputeInstanceGetInfo_v2 nvmlDeviceCreateGpuInstance
        nvmlDeviceCreateGpuInstanceWithPlacement nvmlDeviceGetDeviceHandleFromMigDeviceHandle
        nvmlDeviceGetGpuInstanceById nvmlDeviceGetGpuInstanceId nvmlDeviceGetGpuInstancePossiblePlacements_v2
        nvmlDeviceGetGpuInstanceProfileInfo nvmlDeviceGetGpuInstanceProfileInfoByIdV
        nvmlDeviceGetGpuInstanceProfileInfoV nvmlDeviceGetGpuInstanceRemainingCapacity nvmlDeviceGetGpuInstances
        nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetMigMode nvmlDeviceSetMigMode
        nvmlGpuInstanceCreateComputeInstance nvmlGpuInstanceCreateComputeInstanceWithPlacement
        nvmlGpuInstanceDestroy nvmlGpuInstanceGetComputeInstanceById
        nvmlGpuInstanceGetComputeInstancePossiblePlacements nvmlGpuInstanceGetComputeInstanceProfileInfo
        nvmlGpuInstanceGetComputeInstanceProfileInfoV nvmlGpuInstanceGetComputeInstanceRemainingCapacity
        nvmlGpuInstanceGetComputeInstances nvmlGpuInstanceGetInfo
    """,
    "settings": """
        nvmlDeviceClearAccountingPids nvmlDeviceClearCpuAffinity nvmlDeviceClearEccErrorCounts
        nvmlDeviceClearFieldValues nvmlDeviceDiscoverGpus nvmlDeviceFreezeNvLinkUtilizationCounter
        nvmlDeviceModifyDrainState nvmlDevicePerfMetricsGetSamples_v1 nvmlDevicePowerSmoothingActivatePresetProfile
        nvmlDevicePowerSmoothingSetState nvmlDevicePowerSmoothingUpdatePresetProfileParam
        nvmlDeviceReadPRMCounters_v1 nvmlDeviceReadWritePRM_v1 nvmlDeviceRegisterEvents nvmlDeviceRemoveGpu
        nvmlDeviceRemoveGpu_v2 nvmlDeviceResetApplicationsClocks nvmlDeviceResetGpuLockedClocks
        nvmlDeviceResetMemoryLockedClocks nvmlDeviceResetNvLinkErrorCounters nvmlDeviceResetNvLinkUtilizationCounter
        nvmlDeviceSetAPIRestriction nvmlDeviceSetAccountingMode nvmlDeviceSetAdaptiveTgpMode_v1
        nvmlDeviceSetApplicationsClocks nvmlDeviceSetAutoBoostedClocksEnabled nvmlDeviceSetClockOffsets
        nvmlDeviceSetComputeMode nvmlDeviceSetConfComputeUnprotectedMemSize nvmlDeviceSetCpuAffinity
        nvmlDeviceSetDefaultAutoBoostedClocksEnabled nvmlDeviceSetDefaultFanSpeed_v2 nvmlDeviceSetDramEncryptionMode
        nvmlDeviceSetDriverModel nvmlDeviceSetEccMode nvmlDeviceSetFanControlPolicy nvmlDeviceSetFanSpeed_v2
        nvmlDeviceSetGpcClkVfOffset nvmlDeviceSetGpuLockedClocks nvmlDeviceSetGpuOperationMode
        nvmlDeviceSetHostname_v1 nvmlDeviceSetMemClkVfOffset nvmlDeviceSetMemoryLimits_v1
        nvmlDeviceSetMemoryLockedClocks nvmlDeviceSetNvLinkDeviceLowPowerThreshold
        nvmlDeviceSetNvLinkUtilizationControl nvmlDeviceSetNvlinkBwMode nvmlDeviceSetNvlinkBwModeAsync_v1
        nvmlDeviceSetPersistenceMode nvmlDeviceSetPowerManagementLimit nvmlDeviceSetPowerManagementLimit_v2
        nvmlDeviceSetPowerMizerMode_v1 nvmlDeviceSetRusdSettings_v1 nvmlDeviceSetTemperatureThreshold
        nvmlDeviceSetVirtualizationMode nvmlDeviceValidateInforom
        nvmlDeviceWorkloadPowerProfileClearRequestedProfiles nvmlDeviceWorkloadPowerProfileGetCurrentProfiles
        nvmlDeviceWorkloadPowerProfileGetProfilesInfo nvmlDeviceWorkloadPowerProfileSetRequestedProfiles
        nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1
    """,
    "temperature, power, fans, clocks": """
        nvmlDeviceGetAdaptiveClockInfoStatus nvmlDeviceGetApplicationsClock nvmlDeviceGetAutoBoostedClocksEnabled
        nvmlDeviceGetClkMonStatus nvmlDeviceGetClock nvmlDeviceGetClockInfo nvmlDeviceGetClockOffsets
        nvmlDeviceGetCoolerInfo nvmlDeviceGetCurrentClockFreqs nvmlDeviceGetCurrentClocksEventReasons
        nvmlDeviceGetCurrentClocksThrottleReasons nvmlDeviceGetDefaultApplicationsClock
        nvmlDeviceGetDynamicPstatesInfo nvmlDeviceGetEnforcedPowerLimit nvmlDeviceGetFanControlPolicy_v2
        nvmlDeviceGetFanSpeed nvmlDeviceGetFanSpeedRPM nvmlDeviceGetFanSpeed_v2 nvmlDeviceGetGpcClkMinMaxVfOffset
        nvmlDeviceGetGpcClkVfOffset nvmlDeviceGetMarginTemperature nvmlDeviceGetMaxCustomerBoostClock
        nvmlDeviceGetMemClkMinMaxVfOffset nvmlDeviceGetMemClkVfOffset nvmlDeviceGetMinMaxClockOfPState
        nvmlDeviceGetMinMaxFanSpeed nvmlDeviceGetNumFans nvmlDeviceGetPerformanceModes nvmlDeviceGetPerformanceState
        nvmlDeviceGetPowerManagementDefaultLimit nvmlDeviceGetPowerManagementLimit
        nvmlDeviceGetPowerManagementLimitConstraints nvmlDeviceGetPowerManagementMode nvmlDeviceGetPowerMizerMode_v1
        nvmlDeviceGetPowerSource nvmlDeviceGetPowerState nvmlDeviceGetPowerUsage
        nvmlDeviceGetSupportedClocksEventReasons nvmlDeviceGetSupportedClocksThrottleReasons
        nvmlDeviceGetSupportedGraphicsClocks nvmlDeviceGetSupportedMemoryClocks
        nvmlDeviceGetSupportedPerformanceStates nvmlDeviceGetTargetFanSpeed nvmlDeviceGetTemperature
        nvmlDeviceGetTemperatureThreshold nvmlDeviceGetTemperatureV nvmlDeviceGetThermalSettings
        nvmlDeviceGetTotalEnergyConsumption nvmlDeviceGetViolationStatus
    """,
    "links and buses": """
        nvmlDeviceGetBusType nvmlDeviceGetC2cModeInfoV nvmlDeviceGetCurrPcieLinkGeneration
        nvmlDeviceGetCurrPcieLinkWidth nvmlDeviceGetGpuFabricInfo nvmlDeviceGetGpuFabricInfoV
        nvmlDeviceGetGpuFabricInfo_v4 nvmlDeviceGetGpuMaxPcieLinkGeneration nvmlDeviceGetIrqNum
        nvmlDeviceGetMaxPcieLinkGeneration nvmlDeviceGetMaxPcieLinkWidth nvmlDeviceGetNvLinkCapability
        nvmlDeviceGetNvLinkErrorCounter nvmlDeviceGetNvLinkInfo nvmlDeviceGetNvLinkRemoteDeviceType
        nvmlDeviceGetNvLinkRemotePciInfo nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetNvLinkState
        nvmlDeviceGetNvLinkTelemetrySamples_v1 nvmlDeviceGetNvLinkUtilizationControl
        nvmlDeviceGetNvLinkUtilizationCounter nvmlDeviceGetNvLinkVersion nvmlDeviceGetNvlinkBwMode
        nvmlDeviceGetNvlinkSupportedBwModes nvmlDeviceGetP2PStatus nvmlDeviceGetPciInfoExt
        nvmlDeviceGetPcieLinkMaxSpeed nvmlDeviceGetPcieReplayCounter nvmlDeviceGetPcieSpeed
        nvmlDeviceGetPcieThroughput nvmlDeviceGetTopologyCommonAncestor nvmlDeviceGetTopologyNearestGpus
    """,
    "errors of memory": """
        nvmlDeviceGetBankRemapperStatus_v1 nvmlDeviceGetDefaultEccMode nvmlDeviceGetDetailedEccErrors
        nvmlDeviceGetEccMode nvmlDeviceGetMemoryErrorCounter nvmlDeviceGetRemappedRows nvmlDeviceGetRemappedRows_v2
        nvmlDeviceGetRepairStatus nvmlDeviceGetRetiredPages nvmlDeviceGetRetiredPagesPendingStatus
        nvmlDeviceGetRetiredPages_v2 nvmlDeviceGetRowRemapperHistogram nvmlDeviceGetSramEccErrorStatus
        nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts nvmlDeviceGetTotalEccErrors
        nvmlDeviceGetUnrepairableMemoryFlag_v1
    """,
    "others": """
        nvmlDeviceGetAPIRestriction nvmlDeviceGetAccountingBufferSize nvmlDeviceGetAccountingMode
        nvmlDeviceGetAccountingPids nvmlDeviceGetAccountingStats nvmlDeviceGetAccountingStats_v2
        nvmlDeviceGetAdaptiveTgpModeInfo_v1 nvmlDeviceGetAddressingMode nvmlDeviceGetAttributes
        nvmlDeviceGetAttributes_v2 nvmlDeviceGetBAR1MemoryInfo nvmlDeviceGetBBXTimeData_v1 nvmlDeviceGetBoardId
        nvmlDeviceGetBoardPartNumber nvmlDeviceGetBridgeChipInfo nvmlDeviceGetCapabilities
        nvmlDeviceGetComputeInstanceId nvmlDeviceGetConfComputeGpuAttestationReport
        nvmlDeviceGetConfComputeGpuCertificate nvmlDeviceGetConfComputeMemSizeInfo
        nvmlDeviceGetConfComputeProtectedMemoryUsage nvmlDeviceGetCpuAffinity nvmlDeviceGetCpuAffinityWithinScope
        nvmlDeviceGetDecoderUtilization nvmlDeviceGetDramEncryptionMode nvmlDeviceGetDriverModel
        nvmlDeviceGetDriverModel_v2 nvmlDeviceGetEncoderCapacity nvmlDeviceGetEncoderSessions
        nvmlDeviceGetEncoderStats nvmlDeviceGetEncoderUtilization nvmlDeviceGetFBCSessions nvmlDeviceGetFBCStats
        nvmlDeviceGetGpuOperationMode nvmlDeviceGetGridLicensableFeatures_v4 nvmlDeviceGetGspFirmwareMode
        nvmlDeviceGetGspFirmwareVersion nvmlDeviceGetHandleBySerial nvmlDeviceGetHandleByUUIDV
        nvmlDeviceGetHostname_v1 nvmlDeviceGetInforomConfigurationChecksum nvmlDeviceGetInforomImageVersion
        nvmlDeviceGetInforomVersion nvmlDeviceGetJpgUtilization nvmlDeviceGetLastBBXFlushTime
        nvmlDeviceGetMemoryAffinity nvmlDeviceGetMemoryLimits_v1 nvmlDeviceGetMinorNumber nvmlDeviceGetModuleId
        nvmlDeviceGetNumGpuCores nvmlDeviceGetNumaNodeId nvmlDeviceGetOfaUtilization nvmlDeviceGetPdi
        nvmlDeviceGetPersistenceMode nvmlDeviceGetPgpuMetadataString nvmlDeviceGetPlatformInfo
        nvmlDeviceGetProcessesUtilizationInfo nvmlDeviceGetSamples nvmlDeviceGetSerial
        nvmlDeviceGetSupportedEventTypes nvmlDeviceGetVbiosVersion nvmlDeviceGetVirtualizationMode
        nvmlDeviceQueryDrainState
    """,
}

WITHOUT_START = frozenset({"nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlErrorString"})
"""Calls that may come before nvmlInit."""


def all_calls() -> list[Call]:
    """Every entry point, by area, those that are there first."""
    found = []
    for area, rows in HERE.items():
        for row in rows.strip().splitlines():
            name, *words = row.split()
            found.append(Call(area, name, tuple((w.partition(":")[0], w.partition(":")[2]) for w in words), True))
    return found + [Call(area, name, (), False) for area, names in LACKING.items() for name in names.split()]
