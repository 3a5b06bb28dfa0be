"""Pages of GPU exporters, in the units that each writes.

Lines after dcgm-exporter's README (sample output), METRICS.md of nvidia_gpu_exporter, and
AMD's device-metrics-exporter's documentation; values are made up.
"""

import pytest

from proa.bench.gauges import gpu_gauges, gpus_of_page

_H100 = b'device="nvidia0",modelName="NVIDIA H100 80GB HBM3"'
DCGM = b"""
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{GPU0,DCGM_FI_DRIVER_VERSION="570.86.15"} 97
DCGM_FI_PROF_SM_ACTIVE{GPU0} 0.412
DCGM_FI_DEV_FB_USED{GPU0} 70000
DCGM_FI_DEV_FB_FREE{GPU0} 11559
DCGM_FI_DEV_POWER_USAGE{GPU0} 612.5
DCGM_FI_DEV_GPU_TEMP{GPU0} 61
DCGM_FI_DEV_GPU_TEMP{GPU1} 44
""".replace(b"GPU0", b'gpu="0",UUID="GPU-6ad7",' + _H100).replace(
    b"GPU1", b'gpu="1",UUID="GPU-8bd1",' + _H100
)
NVIDIA_SMI = b"""
nvidia_smi_memory_used_bytes{uuid="df6e7a7c"} 2.1e+10
nvidia_smi_memory_total_bytes{uuid="df6e7a7c"} 2.5e+10
nvidia_smi_utilization_gpu_ratio{uuid="df6e7a7c"} 0.5
nvidia_smi_power_draw_watts{uuid="df6e7a7c"} 300
nvidia_smi_enforced_power_limit_watts{uuid="df6e7a7c"} 350
"""
AMD = b"""
gpu_used_vram{card_model="102-D65209-00",gpu_id="0",hostname="h"} 150000
gpu_total_vram{card_model="102-D65209-00",gpu_id="0",hostname="h"} 196592
gpu_gfx_activity{card_model="102-D65209-00",gpu_id="0",hostname="h"} 80
gpu_package_power{card_model="102-D65209-00",gpu_id="0",hostname="h"} 700
"""


def test_dcgm_counts_memory_in_mib_and_tells_busy_multiprocessors() -> None:
    first, second = gpus_of_page(DCGM)
    assert (first.index, first.name) == ("0", "NVIDIA H100 80GB HBM3")
    assert first.driver == "570.86.15"
    assert first.memory_bytes == 70000 * 2**20
    assert first.memory_total_bytes == 81559 * 2**20
    assert first.kernel_share == pytest.approx(0.97)
    assert (first.sm_share, first.power_w, first.temperature_c) == (0.412, 612.5, 61.0)
    assert (second.temperature_c, second.memory_bytes, second.power_w) == (44.0, None, None)


def test_other_exporters_have_their_own_units() -> None:
    (nvidia,) = gpus_of_page(NVIDIA_SMI)
    assert (nvidia.memory_bytes, nvidia.kernel_share, nvidia.power_limit_w) == (2.1e10, 0.5, 350.0)
    (amd,) = gpus_of_page(AMD)
    assert (amd.memory_bytes, amd.kernel_share, amd.power_w) == (1.5e11, 0.8, 700.0)
    assert amd.sm_share is None


def test_a_page_of_something_else_has_no_gpus() -> None:
    assert gpus_of_page(b'vllm:num_requests_running{model_name="m"} 3\n') == []


def test_what_is_not_told_is_no_gauge() -> None:
    told = gpu_gauges(gpus_of_page(DCGM)[1], 1.5)
    assert [(gauge.source, gauge.name, gauge.value) for gauge in told] == [
        ("gpu:1", "temperature_c", 44.0)
    ]
