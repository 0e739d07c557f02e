@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 64u + lane;
  if (id >= P[0].x) { return; }
  let i0 = i32(id);
  var r0 = -infinity();
  for (var i1 = 0; i1 < 100; i1 += 4) {
    let t0 = b0[(bitcast<i32>(P[0].y) + i0 * 100 + i1) / 4];
    let t0x = t0.x;
    let t0y = t0.y;
    let t0z = t0.z;
    let t0w = t0.w;
    // programs.py:11
    let t1x = (t0x * 0.5f);
    let t1y = (t0y * 0.5f);
    let t1z = (t0z * 0.5f);
    let t1w = (t0w * 0.5f);
    // programs.py:12
    r0 = max_nan(r0, t1x);
    r0 = max_nan(r0, t1y);
    r0 = max_nan(r0, t1z);
    r0 = max_nan(r0, t1w);
  }
  var r1 = 0.0;
  for (var i1 = 0; i1 < 100; i1 += 4) {
    let t2 = b0[(bitcast<i32>(P[0].y) + i0 * 100 + i1) / 4];
    let t2x = t2.x;
    let t2y = t2.y;
    let t2z = t2.z;
    let t2w = t2.w;
    // programs.py:11
    let t3x = (t2x * 0.5f);
    let t3y = (t2y * 0.5f);
    let t3z = (t2z * 0.5f);
    let t3w = (t2w * 0.5f);
    // programs.py:12
    let t4x = (t3x - r0);
    let t4y = (t3y - r0);
    let t4z = (t3z - r0);
    let t4w = (t3w - r0);
    let t5x = exp_f(t4x);
    let t5y = exp_f(t4y);
    let t5z = exp_f(t4z);
    let t5w = exp_f(t4w);
    r1 = r1 + t5x;
    r1 = r1 + t5y;
    r1 = r1 + t5z;
    r1 = r1 + t5w;
  }
  for (var i1 = 0; i1 < 100; i1 += 4) {
    let t6 = b0[(bitcast<i32>(P[0].y) + i0 * 100 + i1) / 4];
    let t6x = t6.x;
    let t6y = t6.y;
    let t6z = t6.z;
    let t6w = t6.w;
    // programs.py:11
    let t7x = (t6x * 0.5f);
    let t7y = (t6y * 0.5f);
    let t7z = (t6z * 0.5f);
    let t7w = (t6w * 0.5f);
    // programs.py:12
    let t8x = (t7x - r0);
    let t8y = (t7y - r0);
    let t8z = (t7z - r0);
    let t8w = (t7w - r0);
    let t9x = exp_f(t8x);
    let t9y = exp_f(t8y);
    let t9z = exp_f(t8z);
    let t9w = exp_f(t8w);
    let t10x = (t9x / r1);
    let t10y = (t9y / r1);
    let t10z = (t9z / r1);
    let t10w = (t9w / r1);
    b1[(bitcast<i32>(P[0].z) + i0 * 100 + i1) / 4] = vec4<f32>(t10x, t10y, t10z, t10w);
  }
}
