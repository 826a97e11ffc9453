//! CUDA's driver library, found at run time: the few calls that executing a job takes, behind types that own what they
//! stand for. The only module of Cerith with `unsafe` in it.
//!
//! See `super::batch` for how they are used.
//!
//! Invariants: the library is looked for once, by [`Gpu::open`], and nothing else calls it before that succeeded; a
//! GPU's context is current on the thread that opened it, and no type here is `Send`, so every call comes from that
//! thread; [`close_inherited`] is called before the process owns any file. A kernel may do anything to the memory of its process that a GPU can reach; that is why only a child
//! process opens a GPU.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use cerith_toolchain::compiled::TensorMap;
use cudarc::driver::sys::{self, CUresult};

/// An error that CUDA reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub name: String,
    /// CUDA's sentence for it.
    pub message: String,
    /// Whether the context is lost: nothing more can be done in this process.
    pub fatal: bool,
}

/// Errors after which a context still works: of a call that was refused, not of a kernel that ran.
fn is_refusal(code: CUresult) -> bool {
    use CUresult as C;
    matches!(
        code,
        C::CUDA_ERROR_INVALID_VALUE
            | C::CUDA_ERROR_OUT_OF_MEMORY
            | C::CUDA_ERROR_INVALID_IMAGE
            | C::CUDA_ERROR_NO_BINARY_FOR_GPU
            | C::CUDA_ERROR_INVALID_PTX
            | C::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | C::CUDA_ERROR_UNSUPPORTED_LIMIT
            | C::CUDA_ERROR_INVALID_SOURCE
            | C::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
            | C::CUDA_ERROR_NOT_FOUND
            | C::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
            | C::CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
            | C::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
            | C::CUDA_ERROR_INVALID_CLUSTER_SIZE
            | C::CUDA_ERROR_NOT_SUPPORTED
            | C::CUDA_ERROR_NOT_PERMITTED
    )
}

/// Closes every open file of this process but its three standard ones. To be called before anything else is opened.
pub(super) fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/dev/fd") else {
        return;
    };
    let open: Vec<c_int> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&number| number > 2)
        .collect();
    for number in open {
        // The one that the list was read from is closed by now.
        if std::fs::symlink_metadata(format!("/dev/fd/{number}")).is_ok() {
            // SAFETY: it is open, and nothing in this process owns a file yet.
            unsafe { rustix::io::close(number) };
        }
    }
}

type Result<T> = std::result::Result<T, Error>;

fn check(code: CUresult) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let text = |ask: unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult| {
        let mut at = ptr::null();
        // SAFETY: the library is loaded, since a call of it made `code`; it writes a pointer to a static string, or
        // null.
        unsafe {
            ask(code, &raw mut at);
            (!at.is_null()).then(|| CStr::from_ptr(at).to_string_lossy().into_owned())
        }
    };
    Err(Error {
        name: text(sys::cuGetErrorName).unwrap_or_else(|| format!("CUDA_ERROR_{}", code as u32)),
        message: text(sys::cuGetErrorString).unwrap_or_default(),
        fatal: !is_refusal(code),
    })
}

/// The reason why a GPU cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The machine has no driver.
    #[error("CUDA's driver library (libcuda.so.1) is not on this machine")]
    NoLibrary,
    /// The driver has no GPU.
    #[error("CUDA's driver sees no GPU")]
    NoGpu,
    /// The driver fails.
    #[error("CUDA's driver does not start: {}, {}", .0.name, .0.message)]
    Start(Error),
    /// The GPU has no memory for launches.
    #[error("{}: {}", .0.name, .0.message)]
    Device(Error),
}

/// The properties of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// `NVIDIA H200`.
    pub name: String,
    /// CUDA version that the driver supports: 13000 is 13.0.
    pub cuda: u32,
    /// Compute capability: 90 is 9.0.
    pub capability: u32,
    /// GPUs that the process sees.
    pub count: usize,
}

/// A GPU with its context, current on this thread. Never destroyed: the process ends with it.
#[derive(Debug)]
pub struct Gpu {
    device: c_int,
    stream: sys::CUstream,
    has_param_info: bool,
    /// Its properties.
    pub description: Description,
    /// A context belongs to its thread here.
    thread: PhantomData<*mut ()>,
}

impl Gpu {
    /// Loads the library and opens the GPU of an index.
    ///
    /// # Errors
    /// There is no library or no such GPU.
    pub fn open(index: usize) -> std::result::Result<Self, OpenError> {
        // SAFETY: loads and unloads the library; that runs the driver's own initialisers, as every CUDA program does.
        if !unsafe { sys::is_culib_present() } {
            return Err(OpenError::NoLibrary);
        }
        Self::open_device(index).map_err(|error| match error.name.as_str() {
            "CUDA_ERROR_NO_DEVICE" => OpenError::NoGpu,
            _ => OpenError::Start(error),
        })
    }

    fn open_device(index: usize) -> Result<Self> {
        let (mut count, mut device, mut version) = (0, 0, 0);
        let (mut context, mut stream) = (ptr::null_mut(), ptr::null_mut());
        let mut name = [0u8; 256];
        // SAFETY: every pointer is to a variable of the type that the call writes; `name` is as long as it says. The
        // context is retained for the life of the process.
        unsafe {
            check(sys::cuInit(0))?;
            check(sys::cuDriverGetVersion(&raw mut version))?;
            check(sys::cuDeviceGetCount(&raw mut count))?;
            check(sys::cuDeviceGet(
                &raw mut device,
                c_int::try_from(index).unwrap_or(c_int::MAX),
            ))?;
            check(sys::cuDeviceGetName(
                name.as_mut_ptr().cast(),
                name.len() as c_int - 1,
                device,
            ))?;
            check(sys::cuDevicePrimaryCtxRetain(&raw mut context, device))?;
            check(sys::cuCtxSetCurrent(context))?;
            check(sys::cuStreamCreate(
                &raw mut stream,
                sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32,
            ))?;
        }
        let mut gpu = Self {
            device,
            stream,
            // SAFETY: only asks whether the library, loaded by now, has a symbol; the type is not used.
            has_param_info: unsafe { sys::culib().get::<*const c_void>(b"cuFuncGetParamInfo\0").is_ok() },
            description: Description {
                name: CStr::from_bytes_until_nul(&name)
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default(),
                cuda: version.try_into().unwrap_or_default(),
                capability: 0,
                count: count.try_into().unwrap_or_default(),
            },
            thread: PhantomData,
        };
        let major =
            gpu.read_attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor =
            gpu.read_attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        gpu.description.capability = (major * 10 + minor).try_into().unwrap_or_default();
        Ok(gpu)
    }

    fn read_attribute(&self, attribute: sys::CUdevice_attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: writes one integer.
        check(unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.device) })?;
        Ok(value)
    }

    /// The maximum dynamic shared memory of a block, in bytes.
    pub fn most_shared(&self) -> Result<u32> {
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        Ok(self.read_attribute(attribute)?.try_into().unwrap_or_default())
    }

    /// Memory of the GPU, not initialised, aligned to 512.
    #[allow(clippy::unused_self)] // It says that the context is there.
    pub fn allocate(&self, len: usize) -> Result<Buffer> {
        let mut address = 0;
        // SAFETY: writes one address.
        check(unsafe { sys::cuMemAlloc_v2(&raw mut address, len.max(1)) })?;
        Ok(Buffer {
            address,
            len,
            thread: PhantomData,
        })
    }

    /// Memory of the host that transfers are fast from and to, zeroed.
    #[allow(clippy::unused_self)] // As above.
    pub fn allocate_host(&self, len: usize) -> Result<HostBuffer> {
        let mut at = ptr::null_mut();
        // SAFETY: writes one pointer, to at least `len` bytes, which are then initialised.
        unsafe {
            check(sys::cuMemAllocHost_v2(&raw mut at, len.max(1)))?;
            ptr::write_bytes(at.cast::<u8>(), 0, len.max(1));
        }
        Ok(HostBuffer {
            pointer: at.cast(),
            len,
            thread: PhantomData,
        })
    }

    /// Copies the first bytes of the host's buffer to the GPU's, in stream order.
    pub fn upload(&self, to: &mut Buffer, from: &HostBuffer, len: usize) -> Result<()> {
        let len = len.min(to.len).min(from.len);
        // SAFETY: both ranges are inside of their buffers. The host's buffer is read later, in stream order; callers that change
        // or drop it synchronize first, as `batch` does at the end of every batch.
        check(unsafe { sys::cuMemcpyHtoDAsync_v2(to.address, from.pointer.cast(), len, self.stream) })
    }

    /// Copies the first bytes of the GPU's buffer to the host's, in stream order.
    pub fn download(&self, to: &mut HostBuffer, from: &Buffer, len: usize) -> Result<()> {
        let len = len.min(to.len).min(from.len);
        // SAFETY: as in `upload`.
        check(unsafe { sys::cuMemcpyDtoHAsync_v2(to.pointer.cast(), from.address, len, self.stream) })
    }

    /// Fills the first bytes of a buffer, in stream order.
    pub fn fill(&self, to: &mut Buffer, byte: u8, len: usize) -> Result<()> {
        // SAFETY: the range is inside of the buffer.
        check(unsafe { sys::cuMemsetD8Async(to.address, byte, len.min(to.len), self.stream) })
    }

    /// A counter at zero.
    // `self` says that the library is loaded.
    #[allow(clippy::unused_self)]
    pub fn counter(&self) -> Result<Counter> {
        let mut at = ptr::null_mut();
        // SAFETY: writes one pointer, to at least four bytes, which are then initialised.
        unsafe {
            check(sys::cuMemAllocHost_v2(&raw mut at, size_of::<u32>()))?;
            at.cast::<u32>().write_volatile(0);
        }
        Ok(Counter {
            pointer: at.cast(),
            thread: PhantomData,
        })
    }

    /// Sets a counter once everything that is in the stream now is done.
    pub fn count(&self, counter: &Counter, value: u32) -> Result<()> {
        // SAFETY: with unified addresses, which every 64-bit driver has, memory of `cuMemAllocHost` has one address for
        // both sides. It is never freed.
        check(unsafe { sys::cuStreamWriteValue32_v2(self.stream, counter.pointer as u64, value, 0) })
    }

    /// Waits for everything in the stream.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream lives as long as the process.
        check(unsafe { sys::cuStreamSynchronize(self.stream) })
    }

    /// Loads a cubin, and finds its function.
    pub fn load(&self, cubin: &[u8], function: &str) -> Result<Function> {
        let refused = |name: &str, message: String| Error {
            name: name.to_owned(),
            message,
            fatal: false,
        };
        if !cubin.starts_with(b"\x7fELF") {
            return Err(refused(
                "not-a-cubin",
                "the kernel's machine code is not an ELF file".to_owned(),
            ));
        }
        let name =
            CString::new(function).map_err(|_| refused("bad-name", format!("the name {function:?}")))?;
        let (mut module, mut handle) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: an ELF image carries its own length, and the driver checks what is in it; it is copied. Writes two
        // handles; the name is a C string.
        unsafe {
            check(sys::cuModuleLoadData(&raw mut module, cubin.as_ptr().cast()))?;
            if let Err(error) = check(sys::cuModuleGetFunction(&raw mut handle, module, name.as_ptr())) {
                let _ = sys::cuModuleUnload(module);
                return Err(error);
            }
        }
        let params = self.has_param_info.then(|| Self::read_param_sizes(handle));
        Ok(Function {
            module,
            handle,
            params,
            thread: PhantomData,
        })
    }

    /// Bytes of every parameter of a function.
    fn read_param_sizes(handle: sys::CUfunction) -> Vec<usize> {
        (0..)
            .map_while(|index| {
                let (mut offset, mut size) = (0, 0);
                // SAFETY: the function is of a loaded module; the call writes two numbers, or fails after the last parameter.
                let code = unsafe { sys::cuFuncGetParamInfo(handle, index, &raw mut offset, &raw mut size) };
                (code == CUresult::CUDA_SUCCESS).then_some(size)
            })
            .collect()
    }

    /// Puts a launch into the stream.
    pub fn launch(&self, function: &Function, shape: &Shape, params: &[Slot]) -> Result<()> {
        use sys::CUlaunchAttributeID as Id;
        let zero = Slot::default();
        // If the driver cannot report the number of parameters, it may read more than were passed. So there is room for more.
        let mut pointers: Vec<*mut c_void> = params
            .iter()
            .chain(std::iter::repeat_n(&zero, 64))
            .map(|slot| ptr::from_ref(&slot.bytes).cast_mut().cast())
            .collect();
        let attribute = |id, fill: &dyn Fn(&mut sys::CUlaunchAttributeValue)| {
            let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
            fill(&mut value);
            sys::CUlaunchAttribute {
                id,
                pad: [0; 4],
                value,
            }
        };
        let mut attributes = Vec::new();
        if shape.overlaps {
            attributes.push(attribute(
                Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                &|value| value.programmaticStreamSerializationAllowed = 1,
            ));
        }
        if shape.cooperative {
            attributes.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &|value| {
                value.cooperative = 1;
            }));
        }
        if shape.cluster != [1; 3] {
            attributes.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &|value| {
                [value.clusterDim.x, value.clusterDim.y, value.clusterDim.z] = shape.cluster;
            }));
            attributes.push(attribute(
                Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                &|value| {
                    value.clusterSchedulingPolicyPreference =
                        sys::CUclusterSchedulingPolicy::CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
                },
            ));
        }
        let config = sys::CUlaunchConfig {
            gridDimX: shape.grid[0],
            gridDimY: shape.grid[1],
            gridDimZ: shape.grid[2],
            blockDimX: shape.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shape.shared,
            hStream: self.stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        // SAFETY: configuration, attributes and parameters live until the call returns, which copies them. Every
        // parameter has 128 readable bytes, more than any parameter that `Function::takes` lets through.
        check(unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                function.handle,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        })
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Thread blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Blocks of a cluster along each axis.
    pub cluster: [u32; 3],
    /// All blocks resident at once.
    pub cooperative: bool,
    /// Programmatic dependent launch.
    pub overlaps: bool,
}

/// A parameter's bytes, where a tensor map is aligned too.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub struct Slot {
    bytes: [u8; 128],
    len: usize,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            bytes: [0; 128],
            len: 0,
        }
    }
}

impl Slot {
    /// A parameter of these bytes, at most 128.
    pub fn new(bytes: &[u8]) -> Self {
        let mut slot = Self::default();
        for (to, from) in slot.bytes.iter_mut().zip(bytes) {
            *to = *from;
        }
        slot.len = bytes.len();
        slot
    }

    /// A tensor map for the TMA unit, of a tensor that begins at `address`.
    pub fn tensor_map(map: &TensorMap, address: u64) -> Result<Self> {
        use sys::{CUtensorMapDataType as Type, CUtensorMapSwizzle as Swizzle};
        use sys::{CUtensorMapFloatOOBfill as Fill, CUtensorMapInterleave as Interleave};
        let wrong = |what: &str| Error {
            name: "bad-tensor-map".to_owned(),
            message: format!("a tensor map's {what} is none that CUDA has: {map:?}"),
            fatal: false,
        };
        let rank = map.shape.len();
        if rank == 0 || rank > 5 || map.strides.len() != rank || map.block.len() != rank {
            return Err(wrong("rank"));
        }
        let data_type = [
            Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
            Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
            Type::CU_TENSOR_MAP_DATA_TYPE_UINT64,
            Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
            Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
            Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
            Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
            Type::CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
            Type::CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
            Type::CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B,
        ]
        .into_iter()
        .find(|&one| one as u32 == map.data_type)
        .ok_or_else(|| wrong("data type"))?;
        let swizzle = [
            Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
            Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        ]
        .into_iter()
        .find(|&one| one as u32 == map.swizzle)
        .ok_or_else(|| wrong("swizzle"))?;
        let interleave = [
            Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            Interleave::CU_TENSOR_MAP_INTERLEAVE_16B,
            Interleave::CU_TENSOR_MAP_INTERLEAVE_32B,
        ]
        .into_iter()
        .find(|&one| one as u32 == map.interleave)
        .ok_or_else(|| wrong("interleave"))?;
        let fill = [
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
        ]
        .into_iter()
        .find(|&one| one as u32 == map.fill)
        .ok_or_else(|| wrong("fill"))?;
        // CUDA has the innermost dimension first, and no stride for it.
        let shape: Vec<u64> = map.shape.iter().rev().copied().collect();
        let strides: Vec<u64> = map.strides.iter().rev().skip(1).copied().collect();
        let block: Vec<u32> = map.block.iter().rev().copied().collect();
        let steps = vec![1u32; rank];
        let mut encoded = MaybeUninit::<sys::CUtensorMap>::zeroed();
        // SAFETY: shape, block and steps have `rank` elements and the strides one less, as the call reads them; it
        // writes the map, which is aligned as its type is. The address is only encoded, never read.
        let bytes: [u8; 128] = unsafe {
            check(sys::cuTensorMapEncodeTiled(
                encoded.as_mut_ptr(),
                data_type,
                rank as u32,
                address as usize as *mut c_void,
                shape.as_ptr(),
                strides.as_ptr(),
                block.as_ptr(),
                steps.as_ptr(),
                interleave,
                swizzle,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                fill,
            ))?;
            // SAFETY: sixteen integers without padding, zeroed before they were written.
            std::mem::transmute(encoded.assume_init().opaque)
        };
        Ok(Self::new(&bytes))
    }
}

/// A function of a loaded module. Unloaded when dropped.
#[derive(Debug)]
pub struct Function {
    module: sys::CUmodule,
    handle: sys::CUfunction,
    params: Option<Vec<usize>>,
    thread: PhantomData<*mut ()>,
}

impl Function {
    /// Checks that the function has parameters of these sizes, if the driver can report them.
    pub fn check_params(&self, slots: &[Slot]) -> Result<()> {
        let Some(params) = &self.params else { return Ok(()) };
        if slots.iter().map(|slot| slot.len).eq(params.iter().copied()) {
            return Ok(());
        }
        Err(Error {
            name: "other-parameters".to_owned(),
            message: format!(
                "the kernel has parameters of {params:?} bytes and was given {:?}",
                slots.iter().map(|slot| slot.len).collect::<Vec<_>>()
            ),
            fatal: false,
        })
    }

    /// Allows blocks with this much dynamic shared memory.
    pub fn allow_shared(&self, bytes: u32) -> Result<()> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is of a loaded module.
        check(unsafe { sys::cuFuncSetAttribute(self.handle, attribute, bytes as c_int) })
    }

    /// Allows clusters of more than eight blocks, which not every GPU has.
    pub fn allow_large_clusters(&self) -> Result<()> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        // SAFETY: the function is of a loaded module.
        check(unsafe { sys::cuFuncSetAttribute(self.handle, attribute, 1) })
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: the module was loaded by `Gpu::load` and is unloaded only here. In a lost context the call fails, and
        // the process ends soon.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}

/// Memory of the GPU.
#[derive(Debug)]
pub struct Buffer {
    address: sys::CUdeviceptr,
    len: usize,
    thread: PhantomData<*mut ()>,
}

impl Buffer {
    /// The address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `Gpu::allocate` and freed only here; freeing waits for the GPU.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Memory of the host, locked into place.
#[derive(Debug)]
pub struct HostBuffer {
    pointer: *mut u8,
    len: usize,
    thread: PhantomData<*mut ()>,
}

impl HostBuffer {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes, initialised, that live as long as `self`. No transfer writes them meanwhile, since `batch` waits
        // for transfers before it reads the bytes.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }

    /// The bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

/// A number on the host that the GPU sets. It can be read even after the context failed. It is never freed: a process has only
/// one.
#[derive(Debug)]
pub struct Counter {
    pointer: *mut u32,
    thread: PhantomData<*mut ()>,
}

impl Counter {
    /// The number that was set last.
    pub fn value(&self) -> u32 {
        // SAFETY: an initialised and aligned number that lives as long as the process; the GPU may write it meanwhile.
        unsafe { self.pointer.read_volatile() }
    }

    /// Sets it to zero. Nothing in the stream may be about to set it.
    pub fn reset(&mut self) {
        // SAFETY: as in `value`.
        unsafe { self.pointer.write_volatile(0) }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `Gpu::allocate_host` and freed only here.
        let _ = unsafe { sys::cuMemFreeHost(self.pointer.cast()) };
    }
}
