@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 64u + lane;
  if (id >= P[0].x) { return; }
  let i0 = i32(id);
  var r0x = -infinity();
  var r0y = -infinity();
  var r0z = -infinity();
  var r0w = -infinity();
  var at0 = bitcast<i32>(P[0].y) + i0 * 25;
  for (var i1 = 0; i1 < 100; i1 += 4) {
    let t0 = b0[at0];
    let t0x = t0.x;
    let t0y = t0.y;
    let t0z = t0.z;
    let t0w = t0.w;
    // programs.py:11
    let t1x = (t0x * 0.5f);
    let t1y = (t0y * 0.5f);
    let t1z = (t0z * 0.5f);
    let t1w = (t0w * 0.5f);
    r0x = max_nan(r0x, t1x);
    r0y = max_nan(r0y, t1y);
    r0z = max_nan(r0z, t1z);
    r0w = max_nan(r0w, t1w);
    at0 += 1;
  }
  let r0 = max_nan((max_nan(r0x, r0y)), (max_nan(r0z, r0w)));
  var r1x = 0.0;
  var r1y = 0.0;
  var r1z = 0.0;
  var r1w = 0.0;
  var at1 = bitcast<i32>(P[0].y) + i0 * 25;
  var at2 = bitcast<i32>(P[0].z) + i0 * 25;
  for (var i1 = 0; i1 < 100; i1 += 4) {
    let t2 = b0[at1];
    let t2x = t2.x;
    let t2y = t2.y;
    let t2z = t2.z;
    let t2w = t2.w;
    let t3x = (t2x * 0.5f);
    let t3y = (t2y * 0.5f);
    let t3z = (t2z * 0.5f);
    let t3w = (t2w * 0.5f);
    // programs.py:12
    let t4x = (t3x - r0);
    let t4y = (t3y - r0);
    let t4z = (t3z - r0);
    let t4w = (t3w - r0);
    let t5x = exp_nonpositive(t4x);
    let t5y = exp_nonpositive(t4y);
    let t5z = exp_nonpositive(t4z);
    let t5w = exp_nonpositive(t4w);
    r1x = r1x + t5x;
    r1y = r1y + t5y;
    r1z = r1z + t5z;
    r1w = r1w + t5w;
    b1[at2] = vec4<f32>(t5x, t5y, t5z, t5w);
    at1 += 1;
    at2 += 1;
  }
  let r1 = (r1x + r1y) + (r1z + r1w);
  var at3 = bitcast<i32>(P[0].z) + i0 * 25;
  for (var i1 = 0; i1 < 100; i1 += 4) {
    let t6 = b1[at3];
    let t6x = t6.x;
    let t6y = t6.y;
    let t6z = t6.z;
    let t6w = t6.w;
    let t7x = (t6x / r1);
    let t7y = (t6y / r1);
    let t7z = (t6z / r1);
    let t7w = (t6w / r1);
    b1[at3] = vec4<f32>(t7x, t7y, t7z, t7w);
    at3 += 1;
  }
}
