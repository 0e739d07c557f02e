@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 64u + lane;
  if (id >= P[0].x) { return; }
  let i1 = i32(id);
  let t0 = b0[bitcast<i32>(P[0].y) + i1];
  var r0 = 0.0;
  var at0 = bitcast<i32>(P[0].z) + i1;
  for (var i0 = 0; i0 < 24; i0 += 1) {
    let t1 = b1[at0];
    // programs.py:27
    let t2 = (t0 + t1);
    let t3 = max_nan(t2, 0.0f);
    r0 = r0 + t3;
    at0 += 8;
  }
  b2[bitcast<i32>(P[0].w) + i1] = r0;
}
