@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(8, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  // programs.py:27
  // 24 x 16 times 16 x 8: tiles of 2 x 1 a lane
  let at = i32(8u * 1u * (group.y * groups.x + group.x) + lane);
  let id = min(at / 8, 11);
  let mine = i32(lane % 8u);
  let real = at / 8 < 12;
  let lane_tile = 0;
  let row_tile = id % 12;
  let after_row_tile = id / 12;
  let first = lane_tile * 8;
  let top = row_tile * 2;
  let x0 = min(first + mine * 1 + 0, 7);
  let l0 = (bitcast<i32>(P[0].x) + x0 * 16) >> 2u;
  let y0 = min(top + 0 + mine, 23);
  let r0 = (bitcast<i32>(P[0].y) + y0 * 16) >> 2u;
  var c0_0 = 0.0;
  var c1_0 = 0.0;
  for (var k = 0; k < 16; k += 4) {
    {
      let a0 = b0[r0 + (k) / 4];
      let w0 = b1[l0 + (k) / 4];
      let b0_0 = w0.x;
      let b1_0 = w0.y;
      let b2_0 = w0.z;
      let b3_0 = w0.w;
      let x0_0 = subgroupBroadcast(a0.x, 0u);
      let x0_1 = subgroupBroadcast(a0.y, 0u);
      let x0_2 = subgroupBroadcast(a0.z, 0u);
      let x0_3 = subgroupBroadcast(a0.w, 0u);
      c0_0 = fma(x0_0, b0_0, c0_0);
      c0_0 = fma(x0_1, b1_0, c0_0);
      c0_0 = fma(x0_2, b2_0, c0_0);
      c0_0 = fma(x0_3, b3_0, c0_0);
      let x1_0 = subgroupBroadcast(a0.x, 1u);
      let x1_1 = subgroupBroadcast(a0.y, 1u);
      let x1_2 = subgroupBroadcast(a0.z, 1u);
      let x1_3 = subgroupBroadcast(a0.w, 1u);
      c1_0 = fma(x1_0, b0_0, c1_0);
      c1_0 = fma(x1_1, b1_0, c1_0);
      c1_0 = fma(x1_2, b2_0, c1_0);
      c1_0 = fma(x1_3, b3_0, c1_0);
    }
  }
  let base = bitcast<i32>(P[0].z);
  if (real && top + 0 < 24) {
    if (first + mine * 1 + 0 < 8) { b2[base + (top + 0) * 8 + first + mine * 1 + 0] = c0_0; }
  }
  if (real && top + 1 < 24) {
    if (first + mine * 1 + 0 < 8) { b2[base + (top + 1) * 8 + first + mine * 1 + 0] = c1_0; }
  }
}

@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(8, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 8u + lane;
  if (id >= P[0].x) { return; }
  let i1 = i32(id) * 4;
  let t0 = b0[bitcast<i32>(P[0].y) + (i1 >> 2u)];
  let t0x = t0.x;
  let t0y = t0.y;
  let t0z = t0.z;
  let t0w = t0.w;
  var r0x = 0.0;
  var r0y = 0.0;
  var r0z = 0.0;
  var r0w = 0.0;
  var at0 = bitcast<i32>(P[0].z) + (i1 >> 2u);
  for (var i0 = 0; i0 < 24; i0 += 1) {
    let t1 = b1[at0];
    let t1x = t1.x;
    let t1y = t1.y;
    let t1z = t1.z;
    let t1w = t1.w;
    // programs.py:27
    let t2x = (t0x + t1x);
    let t2y = (t0y + t1y);
    let t2z = (t0z + t1z);
    let t2w = (t0w + t1w);
    let t3x = max_nan(t2x, 0.0f);
    let t3y = max_nan(t2y, 0.0f);
    let t3z = max_nan(t2z, 0.0f);
    let t3w = max_nan(t2w, 0.0f);
    r0x = r0x + t3x;
    r0y = r0y + t3y;
    r0z = r0z + t3z;
    r0w = r0w + t3w;
    at0 += 2;
  }
  b2[bitcast<i32>(P[0].w) + (i1 >> 2u)] = vec4<f32>(r0x, r0y, r0z, r0w);
}
